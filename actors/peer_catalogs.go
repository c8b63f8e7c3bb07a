package actors

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
	"goblin-actor/actors/store"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// A node that joins a cluster asks another one what it knows of the servers' catalogs. So its clients get the same lists as those of the
// other nodes from the beginning, although its servers still start. A server or group with logins is excepted, because its
// catalog may depend on the account.

// peerCatalogs are the catalogs that a node receives.
type peerCatalogs struct {
	server string // whose parts arrive
	data   []byte
	known  map[string]*message.KnownCatalog // by server, until the servers start
	heard  []string                         // servers whose catalogs clients may not see yet
	shown  func()                           // called once they see all of them; nil = the node does not wait
}

// catalogsSeen tells the asker that clients see all catalogs of other nodes.
type catalogsSeen struct{ reply func() }

// answerCatalog encodes a part of a catalog and sends it to another node.
type answerCatalog struct {
	message.ListCatalogs
	server string // "" = all catalogs have been sent
	known  *message.KnownCatalog
	offset int
	next   string // the server after it; "" = none
}

func (s *state) stepPeerCatalogs(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.ListCatalogs:
		return append(out, kernel.Act(s.catalogAfter(m)))
	case message.HeardCatalog:
		return s.heardCatalog(m.Part, out)
	case message.ShowCatalogs:
		s.servers.peers.shown = m.Reply
		return s.checkPeerCatalogs(out)
	}
	return out
}

// catalogAfter finds the catalog at which a page begins. The page is named by an offset, a slash and a server.
func (s *state) catalogAfter(m message.ListCatalogs) answerCatalog {
	text, first, _ := strings.Cut(m.After, "/")
	offset, err := strconv.Atoi(text)
	if err != nil || offset < 0 {
		offset = 0
	}
	a := answerCatalog{ListCatalogs: m}
	for _, server := range slices.SortedFunc(slices.Values(s.config.Servers), func(a, b config.Server) int { return strings.Compare(a.Name, b.Name) }) {
		known := s.servers.known[pool.CatalogIdentity(server)]
		switch {
		case server.Name < first || known == nil || server.Disabled || server.MemberOf != "" || server.HasLogins() || len(server.Name) > cluster.MaxName:
		case a.server == "":
			if a.server, a.known = server.Name, known; server.Name == first {
				a.offset = offset
			}
		default:
			a.next = server.Name
			return a
		}
	}
	return a
}

// send encodes the catalog and answers the question. A catalog that is too large, or has become shorter, is left out.
func (a *answerCatalog) send() {
	if a.server == "" {
		a.Reply(nil, "")
		return
	}
	next := ""
	if a.next != "" {
		next = "0/" + a.next
	}
	raw := store.EncodeCatalog(a.known)
	if len(raw) > cluster.MaxCatalog || a.offset >= len(raw) {
		a.Reply(nil, next)
		return
	}
	part := &cluster.CatalogPart{Server: a.server, Offset: a.offset, Size: len(raw), Data: raw[a.offset:min(len(raw), a.offset+cluster.MaxCatalogPart)]}
	if !part.Last() {
		next = fmt.Sprintf("%d/%s", a.offset+len(part.Data), a.server)
	}
	a.Reply(part, next)
}

// heardCatalog collects the parts of a catalog. A catalog that has changed between two parts is damaged, and has no effect.
func (s *state) heardCatalog(part *cluster.CatalogPart, out []kernel.Effect) []kernel.Effect {
	v := &s.servers.peers
	data := part.Data
	if part.Offset != 0 || !part.Last() {
		if data = v.collect(part); data == nil {
			return out
		}
	}
	known, err := store.DecodeCatalog(data)
	if err != nil {
		return out
	}
	s.rememberPeerCatalog(part.Server, known)
	if ref, running := s.servers.pools[part.Server]; running {
		v.await(part.Server)
		return append(out, kernel.Tell(ref, message.PeerCatalog{Known: known}))
	}
	if s.startup.done || len(v.known) >= maxKnown {
		return out
	}
	if v.known == nil {
		v.known = map[string]*message.KnownCatalog{}
	}
	v.known[part.Server] = known
	v.await(part.Server)
	return out
}

// rememberPeerCatalog keeps a catalog in memory, so that this node can send it to others, unless it knows one itself.
func (s *state) rememberPeerCatalog(name string, known *message.KnownCatalog) {
	for _, server := range s.config.Servers {
		if identity := pool.CatalogIdentity(server); server.Name == name && !server.HasLogins() && s.servers.known[identity] == nil {
			s.servers.remember(message.RememberCatalog{Server: identity, Known: known})
		}
	}
}

// collect adds a part to those that have arrived. It returns the catalog once it is complete.
func (v *peerCatalogs) collect(part *cluster.CatalogPart) []byte {
	if part.Offset == 0 {
		v.server, v.data = part.Server, nil
	}
	if part.Server != v.server || part.Offset != len(v.data) {
		v.server, v.data = "", nil
		return nil
	}
	if v.data = append(v.data, part.Data...); !part.Last() {
		return nil
	}
	data := v.data
	v.server, v.data = "", nil
	return data
}

// await records that clients are about to see a server's catalog.
func (v *peerCatalogs) await(server string) {
	if !slices.Contains(v.heard, server) && len(v.heard) < maxKnown {
		v.heard = append(v.heard, server)
	}
}

// checkPeerCatalogs answers ShowCatalogs once clients see each catalog that arrived before it: that of the other node, or the lists of
// the server itself.
func (s *state) checkPeerCatalogs(out []kernel.Effect) []kernel.Effect {
	v := &s.servers.peers
	if v.shown == nil || len(v.heard) > 0 && s.snapshot == nil {
		return out
	}
	v.heard = slices.DeleteFunc(v.heard, func(name string) bool {
		if !s.enables(name) {
			return true
		}
		server := s.snapshot.Server(name)
		return server != nil && (server.State == catalog.Cached || server.Protocol != "")
	})
	if len(v.heard) > 0 {
		return out
	}
	reply := v.shown
	v.shown = nil
	return append(out, kernel.Act(catalogsSeen{reply}))
}

// enables reports whether a server is configured and not disabled.
func (s *state) enables(name string) bool {
	return slices.ContainsFunc(s.config.Servers, func(server config.Server) bool { return server.Name == name && !server.Disabled })
}

// takePeerCatalog passes the catalog of a server that another node knows on to its new pool, if there is one.
func (s *state) takePeerCatalog(server string, ref kernel.Reference, out []kernel.Effect) []kernel.Effect {
	known := s.servers.peers.known[server]
	if known == nil {
		return out
	}
	delete(s.servers.peers.known, server)
	return append(out, kernel.Tell(ref, message.PeerCatalog{Known: known}))
}

// dropPeerCatalogs forgets the catalogs of servers that do not start. The pools of the others take theirs.
func (s *state) dropPeerCatalogs() {
	maps.DeleteFunc(s.servers.peers.known, func(name string, _ *message.KnownCatalog) bool {
		return !s.enables(name)
	})
}

// listCatalogs answers the question of another node. It implements membership.ListCatalogs.
func (g *Gateway) listCatalogs(after string, reply func(part *cluster.CatalogPart, next string)) {
	g.self.Tell(message.ListCatalogs{After: after, Reply: reply})
}

// heardCatalog receives a part of a catalog that another node knows.
func (g *Gateway) heardCatalog(part *cluster.CatalogPart) {
	g.self.Tell(message.HeardCatalog{Part: part})
}

// showCatalogs calls reply when clients see the catalogs that the node has received. It implements membership's ShowCatalogs.
func (g *Gateway) showCatalogs(reply func()) {
	g.self.Tell(message.ShowCatalogs{Reply: reply})
}
