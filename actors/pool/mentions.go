package pool

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Limits for each of the two generations of mentions: recent ones, and older ones that are dropped next.
const (
	maxMentions     = 4096
	maxMentionBytes = 1 << 20 // of URIs
	maxMentionedURI = 8 << 10 // bytes; longer URIs are not kept
)

// tellAgain is the shortest time after which a node tells the others of the same URI again. It does so because hints may get lost.
const tellAgain = time.Minute

// mention identifies the connection that knows a mentioned resource. The connection is zero for a mention in a notification or by
// another node.
type mention struct {
	backend     kernel.Reference
	incarnation uint64
	told        time.Time // when this node last told the others of it; zero = never
}

// hasConnection reports whether the mention names a connection.
func (m mention) hasConnection() bool { return m.incarnation != 0 || !m.backend.IsZero() }

// mentions holds the resources that a server has mentioned, by URI as the server wrote it.
type mentions struct {
	now, before map[string]mention
	bytes       int // total length of the URIs in now
}

// add records a mention. A mention without a connection does not replace one with a connection.
func (m *mentions) add(uri string, at mention) {
	if len(uri) > maxMentionedURI || uri == "" {
		return
	}
	known, ok := m.now[uri]
	if !ok {
		known, ok = m.before[uri]
		if len(m.now) >= maxMentions || m.bytes+len(uri) > maxMentionBytes {
			m.now, m.before, m.bytes = nil, m.now, 0
		}
		if m.now == nil {
			m.now = map[string]mention{}
		}
		m.bytes += len(uri)
	}
	if ok && !at.hasConnection() {
		at.backend, at.incarnation = known.backend, known.incarnation
	}
	if at.told.IsZero() {
		at.told = known.told
	}
	m.now[uri] = at
}

// has reports whether the URI was mentioned. If it was, the mention is kept for as long as a new one.
func (m *mentions) has(uri string) bool {
	if _, ok := m.now[uri]; ok {
		return true
	}
	at, ok := m.before[uri]
	if ok {
		m.add(uri, at)
	}
	return ok
}

// at returns where a URI was mentioned, or the zero mention if it was not.
func (m *mentions) at(uri string) mention {
	if at, ok := m.now[uri]; ok {
		return at
	}
	return m.before[uri]
}

// resourcesMentioned records the resources that a server's result has mentioned. If other nodes of the cluster have connections of their
// own to the server, it sends them the URIs, because the client may read the resources there: new URIs at once, and known ones again
// after tellAgain.
func (s *state) resourcesMentioned(now time.Time, m message.ResourcesMentioned, out []kernel.Effect) []kernel.Effect {
	tenant, known := s.tenantOf(m.Backend)
	if !known {
		return out
	}
	tells := s.server.Shared && tenant == "" && !s.tenants.membership.IsZero()
	to := s.tenants.mentionsFor(tenant)
	var fresh []string
	for _, uri := range m.URIs {
		at := mention{backend: m.Backend, incarnation: m.Incarnation}
		if tells && now.Sub(to.at(uri).told) > tellAgain {
			fresh, at.told = append(fresh, uri), now
		}
		to.add(uri, at)
	}
	for _, h := range cluster.MentionHints(s.server.Name, fresh) {
		out = append(out, kernel.Tell(s.tenants.membership, message.TellNodes{Hint: h}))
	}
	return out
}

// peerMentioned records the resources that the server has mentioned at other nodes.
func (s *state) peerMentioned(m message.PeerMentioned) {
	if !s.server.Shared {
		return
	}
	for _, uri := range m.URIs {
		s.tenants.sharedMentions.add(uri, mention{})
	}
}

// wasMentioned reports whether a tenant may use a resource that is in no list: the server must have mentioned it. If another node of the
// cluster has the connections to the server, that node decides, because it knows what the server has mentioned to clients of all nodes.
func (s *state) wasMentioned(uri string, of *message.Tenant) bool {
	return s.server.Hop != "" || s.placeOf(of) != "" || s.tenants.mentionsFor(of.KeyOf()).has(uri)
}

// mentionedOn returns the connection on which the resource to be read was mentioned, if it is still usable
// (connectionKnowing). It returns nil for other methods, and for a request to a certain replica. Other connections may
// lead to a process or session that does not know the resource.
func (s *state) mentionedOn(r *message.Request) *connection {
	if r.Frame.Method != protocol.MethodResourcesRead || r.Replica != 0 {
		return nil
	}
	return s.connectionKnowing(r.Item, r.Tenant.KeyOf())
}

// connectionKnowing returns the ready connection on which a resource was mentioned to a tenant. It returns nil if there
// is none, or if the server has only one connection and there is nothing to choose. The tenant "" stands for the shared
// connections.
func (s *state) connectionKnowing(uri, tenant string) *connection {
	at := s.tenants.mentionsFor(tenant).at(uri)
	if !at.hasConnection() || len(s.replicas.connections) == 1 {
		return nil
	}
	conn := s.replicas.byBackend(at.backend)
	if conn == nil || conn.leaving || conn.phase != message.Ready || conn.incarnation != at.incarnation || conn.tenant.KeyOf() != tenant {
		return nil
	}
	return conn
}

// unknownResource returns the fault for reading a resource that the server has neither listed nor mentioned.
func unknownResource(r *message.Request) *protocol.Fault {
	uri, ok := rawjson.Unquote(r.Target.Of(r.Frame.Raw))
	if !ok {
		uri = r.Item
	}
	return protocol.NoResource(uri)
}
