package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// ListServed tells a pool that a client has been given a list that its server may have changed without a word. Nothing answers.
type ListServed struct{ Kind protocol.ItemKind }

func (ListServed) Class() kernel.Class { return kernel.State }

// Key: once is enough.
func (g ListServed) Key() any { return g }

// Refresh asks a pool to have a list looked at again because a client wants what is not in it; the answer is one RefreshResult,
// when clients see what there is now.
type Refresh struct {
	Who  kernel.Reference
	Seq  uint64
	Kind protocol.ItemKind
}

// Abandon lets the client have its answer by what is known.
func (r Refresh) Abandon(kernel.Reason) { r.Who.Tell(RefreshResult{r.Seq}) }

// RefreshResult answers a Refresh: the list is as new as it can be had.
type RefreshResult struct{ Seq uint64 }

func (RefreshResult) Class() kernel.Class { return kernel.Outcome }

// Fetch asks the backend with the catalog to look at a list again, unless its server tells of changes.
type Fetch struct {
	Kind   protocol.ItemKind
	Wanted bool // somebody waits: fresh or not, and FetchResult answers; else only if it has gone stale
}

func (Fetch) Class() kernel.Class { return kernel.State }

// Key: once is enough.
func (f Fetch) Key() any { return f }

// FetchResult answers a Fetch that was wanted: what came of it has been told before.
type FetchResult struct{ Kind protocol.ItemKind }

func (FetchResult) Class() kernel.Class { return kernel.Outcome }
