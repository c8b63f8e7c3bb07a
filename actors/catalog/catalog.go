package catalog

import (
	"sync/atomic"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/toolschema"
)

// Server describes a server to the catalog. It is immutable.
type Server struct {
	Name         string
	Order        int              // position in the configuration
	Pool         kernel.Reference // receives the calls for it
	Life         uint64           // incarnation number of the pool; it changes when the pool restarts and loses its subscriptions
	Rules        config.Server    // prefix, filters, renames, description
	Instructions string           // from initialize or server/discover
	Capabilities []byte           // raw JSON from initialize or server/discover; nil = unknown
	Protocol     string           // protocol version in use; "" = unknown
	Settled      bool             // every replica has been ready or has failed once: clients need not wait for it
	Internal     bool             // the gateway's own server, which is part of every project
	State        string           // "" or Cached; added to every item as _meta["goblin-actor/state"]
	Login        *Login           // set if the server's items are unknown until a person has logged in
}

// Login describes a server's login to clients.
type Login struct {
	Command string        // shell command to log in; "" = people cannot log in: the gateway uses client credentials
	URL     func() string // returns the URL of the login page; "" = none; safe for concurrent use
	Done    bool          // the login is complete and the server's items are being listed
}

// OnlyGatewayLogsIn is reported to clients if people cannot log in.
const OnlyGatewayLogsIn = "only the gateway logs in to this server, with client credentials; ask the gateway's operator to correct them"

// Cached is the State of a server whose lists come from an earlier run of the gateway.
const Cached = "cached"

// Listed reports whether clients can see the server's lists as far as they are known now: clients need not wait for the
// server, or its lists come from an earlier run.
func (s *Server) Listed() bool { return s.Settled || s.State == Cached }

// isMember reports whether the server stands for a member of a group, so that only nodes of the cluster see it.
func (s *Server) isMember() bool { return s.Rules.MemberOf != "" }

// Entry is an item under its public name. It is immutable.
type Entry struct {
	Kind     protocol.ItemKind
	Public   string // name or URI that clients use
	Original string // name, URI or template text as the server defines it
	Server   *Server
	Source   []byte // the server's JSON of the item, without an outputSchema that the catalog has removed

	item             *item
	pass             bool   // the item is passed on unchanged
	since            uint64 // Version in which it last changed for clients; maintained only if there is a policy
	judged           atomic.Pointer[judged]
	onlyStateDiffers bool // only its server's State differs from the previous snapshot
	texts            atomic.Pointer[texts]
	usage            atomic.Pointer[status.ItemCounters] // nil until the first call is counted
}

// Usage returns the counters of the item's calls, which are part of the metrics of its server. The counters are the
// same in all snapshots that have the item.
func (e *Entry) Usage(server *status.ServerMetrics) *status.ItemCounters {
	if c := e.usage.Load(); c != nil {
		return c
	}
	c := server.Item(e.Kind, e.Original, e.Public)
	e.usage.Store(c)
	return c
}

// texts holds what clients receive of an entry. It is created on first use, since a client reads at most a few pages of
// a large catalog at the start.
type texts struct {
	raw, other []byte
	bindings   *protocol.Bindings
}

// Arguments returns the schema that arguments of a tool call are validated against, or nil to skip validation.
func (e *Entry) Arguments() *toolschema.InputSchema { return e.item.arguments }

// Raw returns the item's JSON for clients: with its public name, public links and added _meta members or, in a view
// that passes items through, as in Source.
func (e *Entry) Raw() []byte { return e.written().raw }

// Other returns the item's JSON for clients whose era differs from the server's, or nil if it equals Raw.
func (e *Entry) Other() []byte { return e.written().other }

// Bindings returns the arguments of a tool that are also sent as HTTP headers in the modern era, or nil.
func (e *Entry) Bindings() *protocol.Bindings { return e.written().bindings }

// written returns the texts. Concurrent callers may both create them; the results are equal.
func (e *Entry) written() *texts {
	if t := e.texts.Load(); t != nil {
		return t
	}
	t := &texts{raw: e.Source}
	if !e.pass {
		t.raw = rewrite(e.item)
	}
	t.other = other(e, t.raw)
	t.bindings = bindings(e)
	e.texts.CompareAndSwap(nil, t)
	return e.texts.Load()
}

// Naming configures how public names are built and what is listed.
type Naming struct {
	Namespace    config.Namespace
	URIStyle     string            // prefix, underscore or original
	Unlisted     string            // mentioned or forward; any other value refuses unlisted URIs
	PageSize     int               // items per page; 0 = one page
	MetaTools    bool              // list the gateway's own tools; then no view passes items through unchanged, except /s/<server>
	OnlyMeta     bool              // list only these tools; all others are still found by name
	Version      string            // of the program; reported to clients
	ServerInfo   config.ServerInfo // for views outside of projects; each project has its own
	Instructions string            // placed before the servers' instructions outside of projects; each project has its own

	AutoMeta bool           // list the gateway's own tools only in views with more than autoMeta other tools; they are always found by name
	Policy   *policy.Policy // of roles, for keys that have no policy of their own; nil = everything is permitted
}

// Key identifies a view: the part of the catalog that a client sees.
type Key struct {
	Project  string // "" = everything
	Projects string // if Project is "": the union of these projects, as encoded by EncodeProjects; "" = everything
	Server   string // only this server under its own names, as at /s/<server>/mcp; "" = all; combined with the project
	Rights   string // identity.Principal.Rights: what the roles permit; with a policy, "" permits nothing

	// Policy is the policy that Rights refers to; nil = that of the snapshot. A client may learn of new rights before or
	// after the registry publishes the new policy. With its own policy a key means the same in every snapshot.
	Policy *policy.Policy
}
