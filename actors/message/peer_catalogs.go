package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/cluster"
)

// ListCatalogs asks the gateway for a part of the catalogs that it knows, for a node that joins. Reply gets the part, or nil if there is
// none, and where the next part begins; "" = this is the last one. Reply does not block. It is not called if the gateway cannot answer.
type ListCatalogs struct {
	After string
	Reply func(part *cluster.CatalogPart, next string)
}

// HeardCatalog is a part of a catalog that another node knows. The parts of a catalog arrive in order.
type HeardCatalog struct{ Part *cluster.CatalogPart }

// Class is Outcome: this node has asked for it.
func (HeardCatalog) Class() kernel.Class { return kernel.Outcome }

// ShowCatalogs follows the last HeardCatalog. The gateway calls Reply when its clients see the catalogs. Reply does not block. It is not
// called if the gateway stops, or if a server neither shows its catalog nor sends its lists.
type ShowCatalogs struct{ Reply func() }

// Class is Outcome: this node has asked for the catalogs.
func (ShowCatalogs) Class() kernel.Class { return kernel.Outcome }

// PeerCatalog is what another node of the cluster knows about a server. The pool publishes it if it knows nothing about the server.
type PeerCatalog struct{ Known *KnownCatalog }

// Class is Outcome: it is sent once.
func (PeerCatalog) Class() kernel.Class { return kernel.Outcome }

// FetchCatalog makes the membership actor ask a node for what it knows of a server's catalog. HeardCatalog follows if it knows any.
type FetchCatalog struct{ Server, Incarnation string }

// Class is State: the pool asks again.
func (FetchCatalog) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest question for a server matters.
func (m FetchCatalog) Key() any { return fetchCatalogKey{m.Server} }

type fetchCatalogKey struct{ server string }
