package pool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// refreshAfter is when a remembered catalog that is still true is remembered anew: what nobody has seen for months is forgotten.
const refreshAfter = 24 * time.Hour

// clientsTold is the number of the question whether clients have been told what is remembered. Those of state.confirms begin
// with 1.
const rememberedPublished = 0

const (
	headStart   = 50 * time.Millisecond // that clients have from then on to ask for what they have been told of
	clientsWait = 2 * time.Second       // for the answer: the registry may lose the question in a panic
)

// clientsServed: clients have had their time.
type clientsServed struct{}

// CatalogIdentity names what a server's catalog depends on, under whatever name it is configured: the program, its arguments
// and variables, or the URLs and their headers. It is a hash, so that no secret among them stands in the state file. Unlike
// for an era their values count: another account or another database may offer other tools.
// A group's depends on those of its members that run.
func CatalogIdentity(server config.Server) string {
	var members []string
	for _, m := range server.Members {
		if !m.Disabled && m.Fault == "" {
			members = append(members, CatalogIdentity(m))
		}
	}
	raw, err := json.Marshal(struct {
		Command, Cwd string
		Args, URLs   []string
		Env, Headers map[string]string
		InheritEnv   bool
		Members      []string `json:",omitempty"`
	}{server.Command, server.Cwd, server.Args, server.URLs, server.Env, server.Headers, server.InheritEnv, members})
	if err != nil {
		panic("catalog identity: " + err.Error()) // strings always marshal
	}
	sum := sha256.Sum256(raw)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])
}

// catalogMemory holds what clients are shown of a server's catalog, and what is known of it from before.
type catalogMemory struct {
	remembered      *remembered         // survives a restart of the pool
	waitsForClients bool                // no backend starts until clients have been served the remembered catalog
	fromMemory      bool                // clients see the remembered catalog, or parts of it
	published       *connection         // whose lists were published last; nil = that connection is gone
	info            *message.ServerInfo // of the last leader that was ready
	counts          [protocol.ItemKinds]int
	lastConfirm     uint64 // key of the newest question to the registry
	refreshes       refreshes
}

// nextConfirm returns a new key for a question to the registry.
func (c *catalogMemory) nextConfirm() uint64 {
	c.lastConfirm++
	return c.lastConfirm
}

// remembered is what outlives a panic of the pool and the restart after it: what is known of the server's catalog from before, and
// the configuration in force.
type remembered struct {
	identity string
	catalog  *message.KnownCatalog // nil = nothing
	server   config.Server
	limits   config.Limits
}

func newRemembered(o Options) *remembered {
	return &remembered{CatalogIdentity(o.Server), o.Known, o.Server, o.Limits}
}

// showRemembered shows clients what the server offered when it was last asked, until it is asked again. It comes before the
// announcement: with that the server counts as known.
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

// clientsServed starts the backends that have waited for clients to be served what is remembered: a hundred that start at that
// moment would make the first list late, and are not late themselves for some milliseconds. Whoever wants something of the
// server ends the wait (state.wake).
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

// becomesAnother: under the server's name there is to be another one. As long as the last one serves, its lists stay.
func (s *state) identityChanged(identity string, known *message.KnownCatalog, out []kernel.Effect) []kernel.Effect {
	if s.replicas.hasReadyLeader() && s.fault == "" {
		s.catalog.remembered.identity, s.catalog.remembered.catalog = identity, known
		return out
	}
	return s.adoptIdentity(identity, known, out)
}

// nowAnother: under the server's name there is another server now. What the last one has listed stays until the new one
// has, unless it is known what that offers; what the last one was only remembered to have goes.
func (s *state) adoptIdentity(identity string, known *message.KnownCatalog, out []kernel.Effect) []kernel.Effect {
	s.catalog.remembered.identity, s.catalog.remembered.catalog = identity, known
	if known == nil && s.catalog.fromMemory {
		for kind := range protocol.ItemKind(protocol.ItemKinds) {
			out = s.publishList(kind, &itemList{}, false, out)
		}
		s.catalog.fromMemory, s.catalog.info = false, nil
	}
	return s.publishRemembered(out)
}

// rememberCatalog has what clients see of the server kept for the next start, when that is news.
func (s *state) rememberCatalog(now time.Time, out []kernel.Effect) []kernel.Effect {
	l := s.replicas.leader()
	if l == nil || l.phase != message.Ready || l.catalog.info == nil || l.retiring { // it may be another server's
		return out
	}
	known, next := s.catalog.remembered.catalog, &message.KnownCatalog{Info: l.catalog.info, At: now}
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		if known != nil && !l.catalog.lists[kind].complete { // it could not be fetched
			next.Lists[kind] = known.Lists[kind]
			continue
		}
		next.Lists[kind] = message.KnownList{Items: l.catalog.lists[kind].items, Silent: l.catalog.lists[kind].silent}
	}
	if known != nil && now.Sub(known.At) < refreshAfter && sameCatalog(known, next) {
		return out
	}
	s.catalog.remembered.catalog = next
	return append(out, kernel.Tell(s.gateway, message.RememberCatalog{Server: s.catalog.remembered.identity, Known: next}))
}

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

// sameItems compares two lists. Lists that are equal are mostly one and the same (state.share), and then nothing is read.
func sameList(a, b [][]byte) bool {
	if len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) {
		return true
	}
	return slices.EqualFunc(a, b, bytes.Equal)
}

// stepCatalog handles the lists of servers, and the registry's confirmations that clients see them.
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
