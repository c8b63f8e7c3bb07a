package message

import (
	"maps"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// Tenant identifies whose connections a request uses, if the server's connections are not shared: one client's,
// one user's, or those of all clients that have sent the same headers. It is read-only and never printed, since it
// may hold credentials.
type Tenant struct {
	Key     string            // equal for all requests that may share connections; a hash if it depends on headers
	Who     string            // the Caller.Principal that owns them and whose credentials they may use; "" = no single principal
	Epoch   uint64            // the Caller.Epoch of the request that opened them
	Client  string            // the Caller.ClientKey of the only client that uses them; they are closed when it leaves; "" = several clients use them
	Lane    string            // the holder whose login at the server the connections use; "" = the shared login
	Headers map[string]string // headers sent in addition to the configured ones, by name
	Level   protocol.Level    // log level that the client has set; LevelNone = none
	Hop     bool              // another node of the cluster sends the request, because it considers this node the one with the connections

	Isolation string                 // the server's isolation setting when the tenant was created; a reload may change the setting
	Forwarded []config.ForwardHeader // the server's forwardHeaders setting at that time; read-only
}

// Fits reports whether the tenant still matches the server's settings, which a reload may have changed. If not, nothing
// more is sent for the tenant.
func (t *Tenant) Fits(server *config.Server) bool {
	if t == nil {
		return server.Isolation != "session" && server.Isolation != "principal"
	}
	if (t.Lane != "") != (server.Auth.As == "principal") {
		return false
	}
	return t.Isolation == server.Isolation && slices.Equal(t.Forwarded, server.ForwardHeaders)
}

// Description returns in plain words, for operators, whose connections the tenant's are. It returns "" for nil.
func (t *Tenant) Description() string {
	if t == nil {
		return ""
	}
	who := identity.IDIn(t.Who)
	text := "clients that sent the same forwarded headers"
	switch {
	case t.Client != "" && who != "":
		text = "one session of " + who
	case t.Client != "":
		text = "one session"
	case t.Isolation == "principal" && who != "":
		text = who + " (principal)"
	case t.Isolation == "principal":
		text = "all clients, which are not authenticated"
	case t.Lane != "":
		text = identity.IDIn(t.Lane)
	}
	if t.Lane != "" {
		text += ", its own login"
	}
	return text
}

// ConnectionOwner identifies the connections on which a client subscribes, and the class of connection to open if there is
// none.
type ConnectionOwner struct {
	*Tenant
	Can    CapabilitySet // server requests that the subscriber can answer
	Modern bool          // the subscriber speaks a modern version
}

// Equal reports whether two owners are equal in every field.
func (o *ConnectionOwner) Equal(other *ConnectionOwner) bool {
	return o.Can == other.Can && o.Modern == other.Modern && o.Tenant.equal(other.Tenant)
}

func (t *Tenant) equal(other *Tenant) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.Key == other.Key && t.Who == other.Who && t.Epoch == other.Epoch && t.Client == other.Client && t.Lane == other.Lane &&
		maps.Equal(t.Headers, other.Headers) && t.Level == other.Level && t.Hop == other.Hop && t.Isolation == other.Isolation && slices.Equal(t.Forwarded, other.Forwarded)
}

// Of returns the tenant, or nil for shared connections.
func (o *ConnectionOwner) Of() *Tenant {
	if o == nil {
		return nil
	}
	return o.Tenant
}

// KeyOf returns the tenant's key, or "" for shared connections.
func (o *ConnectionOwner) KeyOf() string { return o.Of().KeyOf() }

// KeyOf returns the tenant's key, or "" for nil.
func (t *Tenant) KeyOf() string {
	if t == nil {
		return ""
	}
	return t.Key
}

// String omits everything, since a tenant may hold credentials.
func (*Tenant) String() string { return "tenant" }

// GoString omits everything, as String does.
func (*Tenant) GoString() string { return "tenant" }

// ClientGone tells a pool that a client with its own connections has left permanently.
type ClientGone struct{ Client string }

func (ClientGone) Class() kernel.Class { return kernel.Outcome }
