package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// ServerCatalog replaces a server's list of one kind.
type ServerCatalog struct {
	Server    string
	Kind      protocol.ItemKind
	Items     [][]byte // raw JSON objects with the server's own names
	Announced bool     // the list was requested after an announced change; it counts as a change even if it is equal
	Silent    bool     // the server does not announce changes to this list
}

func (ServerCatalog) Class() kernel.Class { return kernel.Outcome }

// SetServerRules adds a server or changes how its items are named and filtered. Its Order is the server's position in
// the configuration.
type SetServerRules struct {
	Server catalog.Server
}

func (SetServerRules) Class() kernel.Class { return kernel.Outcome }

// RemoveServer removes a server and its items.
type RemoveServer struct{ Server string }

func (RemoveServer) Class() kernel.Class { return kernel.Outcome }

// Confirm requests one ConfirmResult, to be sent when clients see everything that its sender has reported so far.
type Confirm struct {
	From kernel.Reference
	Key  uint64 // returned in the ConfirmResult
}

func (Confirm) Class() kernel.Class { return kernel.Outcome }

// Abandon confirms if the registry panicked and restarts. A registry that has stopped publishes nothing, so it
// confirms nothing.
func (c Confirm) Abandon(why kernel.Reason) {
	if why == kernel.Panicked {
		c.From.Tell(ConfirmResult{c.Key})
	}
}

// ConfirmResult answers a Confirm.
type ConfirmResult struct{ Key uint64 }

func (ConfirmResult) Class() kernel.Class { return kernel.Outcome }

// CatalogNaming changes how public names are built and what the projects contain.
type CatalogNaming struct {
	Naming   catalog.Naming
	Projects []config.Project
}

func (CatalogNaming) Class() kernel.Class { return kernel.Outcome }

// PeerCatalogsChanged says that other nodes of the cluster have changed their catalogs. Clients are notified as if each server
// had announced a change of these kinds.
type PeerCatalogsChanged struct{ Kinds [protocol.ItemKinds]bool }

// Class is State.
func (PeerCatalogsChanged) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: there is one queued message for each set of kinds.
func (m PeerCatalogsChanged) Key() any { return m }

// OwnCatalogChanged tells the membership actor how often the catalog of this node has changed so far, by kind.
type OwnCatalogChanged struct{ Generations []uint64 }

// Class is State: only the newest counters matter.
func (OwnCatalogChanged) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed.
func (OwnCatalogChanged) Key() any { return ownCatalogKey{} }

type ownCatalogKey struct{}

// Subscribe requests the current Snapshot and every later one.
type Subscribe struct{ From kernel.Reference }

// Unsubscribe ends a Subscribe.
type Unsubscribe struct{ From kernel.Reference }

func (Subscribe) Class() kernel.Class   { return kernel.Outcome }
func (Unsubscribe) Class() kernel.Class { return kernel.Outcome }

// Published carries the newest Snapshot to a subscriber. It replaces an older one that is still queued.
type Published struct {
	Snapshot *catalog.Snapshot
	Early    bool // clients are not notified yet: another Published follows when they may be, within 250 ms of the last notification
}

func (Published) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest Published matters.
func (Published) Key() any { return publishedKey{} }

type publishedKey struct{}
