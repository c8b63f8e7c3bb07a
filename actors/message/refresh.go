package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// Glanced tells a pool that a client has been given a list that its server may have changed without a word. Nothing answers.
type Glanced struct{ Kind protocol.ItemKind }

func (Glanced) Class() kernel.Class { return kernel.State }

// Key: once is enough.
func (g Glanced) Key() any { return g }

// Refresh asks a pool to have a list looked at again because a client wants what is not in it; the answer is one Refreshed,
// when clients see what there is now.
type Refresh struct {
	Who  kernel.Reference
	Seq  uint64
	Kind protocol.ItemKind
}

// Abandon lets the client have its answer by what is known.
func (r Refresh) Abandon(kernel.Why) { r.Who.Tell(Refreshed{r.Seq}) }

// Refreshed answers a Refresh: the list is as new as it can be had.
type Refreshed struct{ Seq uint64 }

func (Refreshed) Class() kernel.Class { return kernel.Outcome }

// Fetch asks the backend with the catalog to look at a list again, unless its server tells of changes.
type Fetch struct {
	Kind   protocol.ItemKind
	Wanted bool // somebody waits: fresh or not, and Fetched answers; else only if it has gone stale
}

func (Fetch) Class() kernel.Class { return kernel.State }

// Key: once is enough.
func (f Fetch) Key() any { return f }

// Fetched answers a Fetch that was wanted: what came of it has been told before.
type Fetched struct{ Kind protocol.ItemKind }

func (Fetched) Class() kernel.Class { return kernel.Outcome }
