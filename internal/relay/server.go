package relay

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/netip"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/stream"
)

// The headers of a relayed request that the first node has added. Only the listener for other nodes reads them.
const (
	headerHolder = protocol.HeaderNodeHolder
	headerClient = "Goblin-Node-Client" // the client's IP address; absent if it has none
)

// Keys finds the principal that holds a key. It is implemented by auth.Gate.
type Keys interface {
	Holder(holder string) (*identity.Principal, *downstream.Refusal)
}

// ServerOptions configures the listener for other nodes.
type ServerOptions struct {
	Node            string             // this node's name, which other nodes send as Host
	TLS             func() *tls.Config // called for each connection; see cluster.Secrets.TLS
	Keys            Keys               // the keys of this node
	MaxMessageBytes int                // as for the public listener; 0 means the default
	Budget          *stream.Budget     // as for the public listener
	TraceHeaders    bool               // as for the public listener
	Upgrade         downstream.Upgrade // accepts connections for other protocols; nil = there are none
	Log             *slog.Logger
}

// NewServer returns a server for requests that other nodes pass on to handler, which is Gateway.Relayed. The caller calls
// Serve and Shutdown. SetForwarded must get the same names as for the public listener. The server requires a certificate of
// the cluster from each client. It does not limit rates or concurrent requests, since the first node does so.
func NewServer(handler downstream.Handler, o ServerOptions) *downstream.Server {
	return downstream.NewServer(handler, downstream.Options{
		AllowedHosts:    []string{o.Node},
		MaxMessageBytes: o.MaxMessageBytes,
		Budget:          o.Budget,
		Admission:       admission{o.Keys},
		TraceHeaders:    o.TraceHeaders,
		Upgrade:         o.Upgrade,
		TLS: &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: (&derived{of: o.TLS, change: func(c *tls.Config) {
			c.ClientAuth = tls.RequireAndVerifyClientCert
			c.SessionTicketsDisabled = true // no node resumes a session
		}}).forClient},
	}, o.Log)
}

// admission admits requests of other nodes, whose certificates TLS has checked. It implements downstream.Admission.
type admission struct{ keys Keys }

// ChecksAll returns true: each request names its principal.
func (admission) ChecksAll() bool { return true }

// Anonymous returns a principal, so that requests are not refused because they have no Authorization header. No request is served
// on its behalf, because the listener has no open paths.
func (admission) Anonymous() *identity.Principal { return identity.Local }

// AdmitBatch admits all batches. The first node has counted their messages.
func (admission) AdmitBatch(*identity.Principal, int) *downstream.Refusal { return nil }

// Admit returns the principal that the other node has admitted.
func (a admission) Admit(r *downstream.Request) downstream.Admitted {
	if node, ok := single(r, "goblin-node-hop"); node != "" || !ok {
		return a.admitHop(r, ok)
	}
	holder, ok := single(r, "goblin-node-holder")
	if !ok || holder == "" {
		return downstream.Admitted{Refusal: refusedHeaders}
	}
	text, ok := single(r, "goblin-node-client")
	var client netip.Addr
	if text != "" {
		var err error
		if client, err = netip.ParseAddr(text); err != nil {
			ok = false
		}
	}
	if !ok {
		return downstream.Admitted{Refusal: refusedHeaders}
	}
	who, refusal := a.keys.Holder(holder)
	return downstream.Admitted{Principal: who, Client: client, Refusal: refusal}
}

// admitHop returns the principal of another node that uses a server of this node. If that node sends the request on behalf of a
// client, the headers name the client and, if the client has authenticated, the holder of its key.
func (a admission) admitHop(r *downstream.Request, ok bool) downstream.Admitted {
	holder, one := single(r, "goblin-node-holder")
	text, two := single(r, "goblin-node-key")
	client, readable := protocol.DecodeHeaderValue(text)
	if !ok || !one || !two || !readable {
		return downstream.Admitted{Refusal: refusedHeaders}
	}
	b := identity.Behalf{Client: client}
	if holder != "" {
		who, refusal := a.keys.Holder(holder)
		if refusal != nil { // its own text would tell the client that its key is not valid
			return downstream.Admitted{Refusal: refusedKey}
		}
		b.Who = who
	}
	return downstream.Admitted{Principal: identity.OnBehalf(b)}
}

// single returns the value of a header, or false if it is repeated.
func single(r *downstream.Request, lower string) (value string, ok bool) {
	n := 0
	r.Values(lower, func(v []byte) {
		value = string(v)
		n++
	})
	return value, n <= 1
}

var refusedKey = &downstream.Refusal{Status: http.StatusMisdirectedRequest, Fault: &protocol.Fault{Name: protocol.ServerUnavailable, Retryable: true,
	Message: "the node that runs the server does not have this API key, or the key has expired; copy the key file to all nodes"}}

var refusedHeaders = &downstream.Refusal{Status: http.StatusBadRequest, Fault: &protocol.Fault{
	Name: protocol.InvalidRequest, Message: "the headers Goblin-Node-* are missing, repeated or invalid; this port is for other nodes of the cluster"}}
