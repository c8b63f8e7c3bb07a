package pool

import "goblin-actor/internal/config"

// linkTraits holds the properties of a server's links that the pool must know before it opens one.
type linkTraits struct {
	startsProcess bool // opening a link starts a process (or an embedded server), which needs a start slot
	headers       bool // requests have headers
	mayServeBoth  bool // the server may speak a modern and a legacy era at the same address
}

// traitsOf returns the traits of the links to an entry's server.
func traitsOf(entry *config.Server) linkTraits {
	if len(entry.URLs) == 0 {
		return linkTraits{startsProcess: true}
	}
	return linkTraits{
		headers:      true,
		mayServeBoth: entry.Type != "sse" && (entry.Protocol == "" || entry.Protocol == "auto"),
	}
}
