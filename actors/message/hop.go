package message

import "goblin-actor/actors/kernel"

// NodeJoined tells pools, and their backends, that a node has joined the cluster. Those of servers that run there connect at once.
type NodeJoined struct{ Node string }

// Class is Outcome: without the message, a server is used again only after the next pause.
func (NodeJoined) Class() kernel.Class { return kernel.Outcome }
