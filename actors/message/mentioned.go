package message

import "goblin-actor/actors/kernel"

// Mentioned tells the pool which resources a server has named in a result: they may be asked for although they are not listed,
// best at the connection that knows them. It comes before the result does.
type Mentioned struct {
	Backend     kernel.Reference
	Incarnation uint64
	URIs        []string // the server's own
}

func (Mentioned) Class() kernel.Class { return kernel.Outcome }
