package backend

// traits states what a kind of link can do. The package asks for a trait, never for the kind of link.
type traits struct {
	ordered    bool // messages travel over one pipe and arrive in the order they were sent
	ownsServer bool // the server is a process of this gateway: it starts and ends with the link, and so does what it knows
	reportsEnd bool // the link reports the end of the server by itself; others notice it only when they send something
	exchanges  bool // each request has an HTTP response of its own: a request in the wrong era does not affect others, and the end of a response ends its request
	headers    bool // parameters of tools may have to be repeated in HTTP headers
	legacyOnly bool // no modern server uses this kind of link
}

// traitsOf returns the traits of a kind of link.
func traitsOf(transport string) traits {
	switch transport {
	case "stdio":
		return traits{ordered: true, ownsServer: true, reportsEnd: true}
	case "http":
		return traits{exchanges: true, headers: true}
	case "sse":
		return traits{legacyOnly: true}
	}
	return traits{}
}
