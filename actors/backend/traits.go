package backend

// traits describes a kind of link. Decisions depend on traits, never on the kind itself.
type traits struct {
	ordered    bool // messages arrive in the order in which they were sent
	ownsServer bool // the server is a child process or a function in this process; it starts and ends with the link, and its state is lost then
	reportsEnd bool // the link reports the end of the server; other links notice it only when they send something
	exchanges  bool // each request has its own HTTP response: a request of the wrong era does not affect others, and the end of a response ends its request
	headers    bool // parameters of tools may have to be repeated in HTTP headers
	legacyOnly bool // modern servers do not use this kind of link
}

// traitsOf returns the traits of a kind of link.
func traitsOf(transport string) traits {
	switch transport {
	case "stdio", "embedded":
		return traits{ordered: true, ownsServer: true, reportsEnd: true}
	case "http":
		return traits{exchanges: true, headers: true}
	case "sse":
		return traits{legacyOnly: true}
	}
	return traits{}
}
