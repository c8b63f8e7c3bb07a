package backend

// transport is how bytes travel to the server: stdio, http or sse.
type transport string

// isProcess reports whether the server is a process of ours: its one pipe keeps the order of what is sent, and it says itself
// when it ends, with all that it knew.
func (t transport) isProcess() bool { return t == "stdio" }

// isStreamable reports whether each request has an HTTP response of its own, and none knows of the one before: a question in the
// wrong era spoils nothing, and the end of a response is one of its request.
func (t transport) isStreamable() bool { return t == "http" }

// isLegacy reports whether no modern server can be behind it: HTTP+SSE has no other era.
func (t transport) isLegacy() bool { return t == "sse" }
