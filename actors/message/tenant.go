package message

import (
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Tenant is whose connections a request uses where a server's are not for everybody: one client's, one user's, or those of all who have
// sent the same headers. Nobody writes to it, and it is never shown: it may hold credentials.
type Tenant struct {
	Key     string            // the same for all who may share connections; of headers a hash
	Who     string            // the Caller.Principal whose they are, whose credentials they may use; "" = nobody's alone
	Epoch   uint64            // the Caller.Epoch of a request that wanted them
	Client  string            // the Caller.ClientKey with whose end the connections end; "" = they are not one client's
	Lane    string            // whose login at the server they use, a principal's holder; "" = everybody's
	Headers map[string]string // what the server is sent beside its own, by name
	Level   protocol.Level    // log level that the client wants; LevelNone = it has not said

	Isolation string                 // by which settings of the server that is so: a reload may change them
	Forwarded []config.ForwardHeader // likewise; not written to
}

// Fits reports whether it is still by these settings whose connections somebody uses. A reload may have changed them since: then nothing
// is sent any more what they do not name.
func (t *Tenant) Fits(server *config.Server) bool {
	if t == nil {
		return server.Isolation != "session" && server.Isolation != "principal"
	}
	if (t.Lane != "") != (server.Auth.As == "principal") {
		return false
	}
	return t.Isolation == server.Isolation && slices.Equal(t.Forwarded, server.ForwardHeaders)
}

// ConnectionOwner says on whose connections somebody subscribes, and of which class one is made when there is none.
type ConnectionOwner struct {
	*Tenant
	Can    CapabilitySet // what the subscriber answers
	Modern bool          // its era
}

// Of is whose connections they are; nil = those that are for everybody.
func (o *ConnectionOwner) Of() *Tenant {
	if o == nil {
		return nil
	}
	return o.Tenant
}

// KeyOf is the tenant's key; "" for nobody.
func (o *ConnectionOwner) KeyOf() string { return o.Of().KeyOf() }

// KeyOf is the tenant's key; "" for nobody.
func (t *Tenant) KeyOf() string {
	if t == nil {
		return ""
	}
	return t.Key
}

// String keeps credentials out of whatever prints it.
func (*Tenant) String() string { return "tenant" }

// GoString is String.
func (*Tenant) GoString() string { return "tenant" }

// ClientGone tells a pool that a client has left for good which had connections of its own there.
type ClientGone struct{ Client string }

func (ClientGone) Class() kernel.Class { return kernel.Outcome }
