package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// ListServed tells a pool that a client received a list whose changes the server does not announce. There is no answer.
type ListServed struct{ Kind protocol.ItemKind }

func (ListServed) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: one message for each kind is enough.
func (g ListServed) Key() any { return g }

// Refresh tells a pool to fetch a list again, because a client requests an item that the list does not contain. The answer is one
// RefreshResult. It comes after clients see the new list, or at once if the list is not fetched.
type Refresh struct {
	From kernel.Reference
	Seq  uint64
	Kind protocol.ItemKind
}

// Abandon answers at once, so the client's request is decided by the list as it is.
func (r Refresh) Abandon(kernel.Reason) { r.From.Tell(RefreshResult{r.Seq}) }

// RefreshResult answers Refresh: the list is as recent as it can be.
type RefreshResult struct{ Seq uint64 }

func (RefreshResult) Class() kernel.Class { return kernel.Outcome }

// Fetch tells the backend that lists the catalog to fetch a list again, unless its server announces changes.
type Fetch struct {
	Kind   protocol.ItemKind
	Wanted bool // a client waits: fetch even a fresh list, and answer with FetchResult; else fetch only a stale list
}

func (Fetch) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: one message of each content is enough.
func (f Fetch) Key() any { return f }

// FetchResult answers a wanted Fetch. If the list was fetched, it was sent before.
type FetchResult struct{ Kind protocol.ItemKind }

func (FetchResult) Class() kernel.Class { return kernel.Outcome }
