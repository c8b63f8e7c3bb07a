package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// NodeJoined tells pools and their backends that a node has joined the cluster. Backends of servers that run there connect at once.
type NodeJoined struct{ Node string }

// Class is Outcome: without the message, a server is used again only after the next pause.
func (NodeJoined) Class() kernel.Class { return kernel.Outcome }

// NodesChanged tells pools that the members of the cluster have changed. Connections of tenants may belong to another node now.
type NodesChanged struct{ View *cluster.View }

func (NodesChanged) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest members matter.
func (NodesChanged) Key() any { return nodesKey{} }

type nodesKey struct{}
