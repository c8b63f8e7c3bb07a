package pool

import (
	"bytes"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// refreshAfter is the age at which an unchanged catalog is stored again. The state file drops catalogs that were
// not stored for months.
const refreshAfter = 24 * time.Hour

// rememberedPublished is the confirmation key for the remembered catalog: the registry confirms it when clients see that
// catalog. Keys of catalogMemory.nextConfirm start at 1.
const rememberedPublished = 0

const (
	headStart   = 50 * time.Millisecond // time for clients to fetch the remembered catalog before backends start
	clientsWait = 2 * time.Second       // maximum wait for the registry's confirmation, which is lost if the registry panics
)

// clientsServed ends the wait before the backends start: clients have had time to fetch the remembered catalog, or the
// registry has not confirmed it in time.
type clientsServed struct{}

// catalogMemory holds the state of a server's published catalog, and the catalog remembered from earlier runs.
type catalogMemory struct {
	remembered      *remembered             // survives a restart of the pool
	waitsForClients bool                    // no backend starts until clients have been served the remembered catalog
	fromMemory      bool                    // clients see the remembered catalog, or parts of it
	published       *connection             // the connection whose lists were published last; nil = none, or it is gone
	info            *message.ServerInfo     // from the last leader that was ready, or remembered; nil = unknown
	counts          [protocol.ItemKinds]int // items in the published lists
	lastConfirm     uint64                  // newest key of a confirmation requested from the registry
	refreshes       refreshes
}

// nextConfirm returns a new key for a confirmation requested from the registry.
func (c *catalogMemory) nextConfirm() uint64 {
	c.lastConfirm++
	return c.lastConfirm
}

// remembered holds what survives a panic and restart of the pool: the server's known catalog and the current
// configuration.
type remembered struct {
	identity string
	catalog  *message.KnownCatalog // nil = nothing
	fromPeer bool                  // another node of the cluster knows the catalog; this one has not stored it yet
	server   config.Server
	limits   config.Limits
}

func newRemembered(o Options) *remembered {
	return &remembered{identity: CatalogIdentity(o.Server), catalog: o.Known, server: o.Server, limits: o.Limits}
}

// replace sets the catalog that this node has stored for a server; nil = none.
func (r *remembered) replace(identity string, known *message.KnownCatalog) {
	r.identity, r.catalog, r.fromPeer = identity, known, false
}

// publishRemembered publishes the remembered catalog, if there is one. It is used until the server sends its lists. It
// must precede the announcement, after which the server counts as known.
func (s *state) publishRemembered(out []kernel.Effect) []kernel.Effect {
	known := s.catalog.remembered.catalog
	if known == nil || s.fault != "" {
		return out
	}
	s.catalog.fromMemory, s.catalog.info = true, known.Info
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		l := &known.Lists[kind]
		out = s.publishList(kind, &itemList{true, l.Items, l.Silent}, false, out)
	}
	return out
}

// startAfterClients starts the backends that were held back until clients had been served the remembered catalog. A
// hundred backends starting at once would delay the first list, while a delay of some milliseconds does not matter to
// the backends. A client that needs the server ends the wait early (state.wake).
func (s *state) startAfterClients(now time.Time, out []kernel.Effect) []kernel.Effect {
	if !s.catalog.waitsForClients {
		return out
	}
	s.catalog.waitsForClients = false
	if !s.isStopped() {
		return out
	}
	return s.startUnlessLazy(now, out)
}

// identityChanged handles a reload that configures a different server under this name. While the previous server
// still runs, its lists stay published.
func (s *state) identityChanged(identity string, known *message.KnownCatalog, out []kernel.Effect) []kernel.Effect {
	if s.replicas.hasReadyLeader() && s.fault == "" {
		s.catalog.remembered.replace(identity, known)
		return out
	}
	return s.adoptIdentity(identity, known, out)
}

// adoptIdentity replaces the remembered catalog. Lists that the previous server has sent stay until the new one sends
// its own, unless the new server's catalog is known. Lists that were only remembered are removed.
func (s *state) adoptIdentity(identity string, known *message.KnownCatalog, out []kernel.Effect) []kernel.Effect {
	s.catalog.remembered.replace(identity, known)
	if known == nil && s.catalog.fromMemory {
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			out = s.publishList(kind, &itemList{}, false, out)
		}
		s.catalog.fromMemory, s.catalog.info = false, nil
	}
	return s.publishRemembered(out)
}

// rememberCatalog stores the ready leader's catalog for the next start, if the catalog has changed, comes from another node or was
// last stored refreshAfter ago.
func (s *state) rememberCatalog(now time.Time, out []kernel.Effect) []kernel.Effect {
	l := s.replicas.leader()
	if l == nil || l.phase != message.Ready || l.catalog.info == nil || l.retiring { // its lists may be another server's
		return out
	}
	known, next := s.catalog.remembered.catalog, &message.KnownCatalog{Info: l.catalog.info, At: now}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if known != nil && !l.catalog.lists[kind].complete { // the list could not be fetched
			next.Lists[kind] = known.Lists[kind]
			continue
		}
		next.Lists[kind] = message.KnownList{Items: l.catalog.lists[kind].items, Silent: l.catalog.lists[kind].silent}
	}
	if known != nil && !s.catalog.remembered.fromPeer && now.Sub(known.At) < refreshAfter && sameCatalog(known, next) {
		return out
	}
	s.catalog.remembered.catalog, s.catalog.remembered.fromPeer = next, false
	return append(out, kernel.Tell(s.gateway, message.RememberCatalog{Server: s.catalog.remembered.identity, Known: next}))
}

// sameCatalog reports whether two catalogs are equal, apart from their age.
func sameCatalog(a, b *message.KnownCatalog) bool {
	if a.Info != b.Info && (a.Info.Version != b.Info.Version || a.Info.Instructions != b.Info.Instructions ||
		!bytes.Equal(a.Info.Capabilities, b.Info.Capabilities) || !bytes.Equal(a.Info.Info, b.Info.Info)) {
		return false
	}
	for kind := range a.Lists {
		if a.Lists[kind].Silent != b.Lists[kind].Silent || !sameList(a.Lists[kind].Items, b.Lists[kind].Items) {
			return false
		}
	}
	return true
}

// sameList reports whether two lists are equal. Equal lists usually share their memory (state.shareList), in which
// case no items are compared.
func sameList(a, b [][]byte) bool {
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return true
	}
	return slices.EqualFunc(a, b, bytes.Equal)
}

// stepCatalog handles the server's lists, requests to fetch them again, and the registry's confirmations that clients see
// them.
func (s *state) stepCatalog(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.Listed:
		return s.listed(now, m, out)
	case message.FetchResult:
		return s.listFetched(m, out)
	case message.ListStale:
		if leader := s.replicas.leader(); leader != nil {
			out = append(out, kernel.Tell(leader.ref, m))
		}
	case message.ListServed:
		return s.fetch(message.Fetch{Kind: m.Kind}, out)
	case message.Refresh:
		return s.refresh(m, out)
	case message.ConfirmResult:
		return s.catalogConfirmed(m, out)
	}
	return out
}
