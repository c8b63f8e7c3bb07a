package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// ServerCatalog replaces what one server offers of one kind.
type ServerCatalog struct {
	Server string
	Kind   protocol.ItemKind
	Items  [][]byte // raw JSON objects, the server's own names
	Asked  bool     // counts as a change even if equal
	Silent bool     // nobody says when it changes
}

func (ServerCatalog) Class() kernel.Class { return kernel.Outcome }

// SetServerRules adds a server or changes how its items are named and filtered. Order is its place in the configuration.
type SetServerRules struct {
	Server catalog.Server
}

func (SetServerRules) Class() kernel.Class { return kernel.Outcome }

// RemoveServer removes a server and all it offered.
type RemoveServer struct{ Server string }

func (RemoveServer) Class() kernel.Class { return kernel.Outcome }

// Confirm asks for one ConfirmResult when all that its sender has told before is in the catalog that clients see.
type Confirm struct {
	Who kernel.Reference
	Key uint64 // comes back
}

func (Confirm) Class() kernel.Class { return kernel.Outcome }

// Abandon answers for a registry that has failed over it, and begins anew. Where there is none any more nothing is seen by anybody.
func (c Confirm) Abandon(why kernel.Reason) {
	if why == kernel.Panicked {
		c.Who.Tell(ConfirmResult{c.Key})
	}
}

// ConfirmResult answers a Confirm.
type ConfirmResult struct{ Key uint64 }

func (ConfirmResult) Class() kernel.Class { return kernel.Outcome }

// CatalogNaming changes how public names are made, and what the projects show (a reload).
type CatalogNaming struct {
	Naming   catalog.Naming
	Projects []config.Project
}

func (CatalogNaming) Class() kernel.Class { return kernel.Outcome }

// Subscribe wants every Snapshot from now on, the present one first.
type Subscribe struct{ Who kernel.Reference }

// Unsubscribe ends a Subscribe.
type Unsubscribe struct{ Who kernel.Reference }

func (Subscribe) Class() kernel.Class   { return kernel.Outcome }
func (Unsubscribe) Class() kernel.Class { return kernel.Outcome }

// Published carries the newest Snapshot to whoever subscribed. A newer one replaces one that still waits.
type Published struct {
	Snapshot *catalog.Snapshot
	Early    bool // clients are not told of it yet: another Published comes when they may be, at the latest 250 ms after the last they were told of
}

func (Published) Class() kernel.Class { return kernel.State }

// Key: only the newest Published counts.
func (Published) Key() any { return publishedKey{} }

type publishedKey struct{}
