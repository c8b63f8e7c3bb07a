package message

import "goblin-actor/actors/kernel"

// ResourcesMentioned tells the pool which resources a server has named in a result. They may be read although they
// are not listed, preferably on the connection that named them. It precedes the result.
type ResourcesMentioned struct {
	Backend     kernel.Reference
	Incarnation uint64
	URIs        []string // the server's, not the public ones
}

func (ResourcesMentioned) Class() kernel.Class { return kernel.Outcome }
