package message

import "goblin-actor/actors/kernel"

// ResourcesMentioned tells the pool which resources a server has named in a result: they may be asked for although they are not listed,
// best at the connection that knows them. It comes before the result does.
type ResourcesMentioned struct {
	Backend     kernel.Reference
	Incarnation uint64
	URIs        []string // the server's own
}

func (ResourcesMentioned) Class() kernel.Class { return kernel.Outcome }
