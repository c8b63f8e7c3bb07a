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

// PeerMentioned tells the pool which resources its server has named in results at other nodes of the cluster, to clients that share their
// connections.
type PeerMentioned struct{ URIs []string }

// Class is Outcome.
func (PeerMentioned) Class() kernel.Class { return kernel.Outcome }
