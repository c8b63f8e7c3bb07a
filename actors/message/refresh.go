package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// ListServed tells a pool that a client was given a list whose changes the server does not announce. It has no answer.
type ListServed struct{ Kind protocol.ItemKind }

func (ListServed) Class() kernel.Class { return kernel.State }

// Key is the message itself: one for each kind is enough.
func (g ListServed) Key() any { return g }

// Refresh asks a pool to fetch a list again, because a client wants an item that is not in it. The answer is one RefreshResult,
// after clients see the new list.
type Refresh struct {
	From kernel.Reference
	Seq  uint64
	Kind protocol.ItemKind
}

// Abandon answers at once, so the client's request is decided by the known list.
func (r Refresh) Abandon(kernel.Reason) { r.From.Tell(RefreshResult{r.Seq}) }

// RefreshResult answers Refresh: the list is as new as possible.
type RefreshResult struct{ Seq uint64 }

func (RefreshResult) Class() kernel.Class { return kernel.Outcome }

// Fetch asks the backend that lists the catalog to fetch a list again, unless its server announces changes.
type Fetch struct {
	Kind   protocol.ItemKind
	Wanted bool // a client waits: fetch it in any case, and answer with FetchResult; else fetch it only if it is stale
}

func (Fetch) Class() kernel.Class { return kernel.State }

// Key is the message itself: one for each kind is enough.
func (f Fetch) Key() any { return f }

// FetchResult answers a wanted Fetch. The new list was sent before it.
type FetchResult struct{ Kind protocol.ItemKind }

func (FetchResult) Class() kernel.Class { return kernel.Outcome }
