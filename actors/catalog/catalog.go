package catalog

import (
	"sync/atomic"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/toolschema"
)

// Server is a server as the catalog needs to know it. Immutable.
type Server struct {
	Name         string
	Order        int              // place in the configuration
	Pool         kernel.Reference // who takes calls for it
	Life         uint64           // counts the pool's incarnations: each has forgotten who had subscribed to what
	Rules        config.Server    // prefix, filters, renames, description
	Instructions string           // from its handshake
	Capabilities []byte           // raw JSON from its handshake; nil = not known yet
	Protocol     string           // version in force; "" = not known yet
	Settled      bool             // it has been ready, or its first attempt failed: nobody need wait for it
	Internal     bool             // one of the gateway's own: part of every project
	State        string           // "" or Cached: goes into every item's _meta["goblin-actor/state"]
	Login        *Login           // nobody knows what it has before somebody has logged in; nil = that is not so
}

// Login is what a client is told of the login that a server wants.
type Login struct {
	Command string        // how one logs in from a shell; "" = nobody can: the gateway does, by client credentials
	URL     func() string // where one logs in by a browser, now; "" = nowhere. Safe from any goroutine
	Done    bool          // somebody has: what the server has is being asked for
}

// RobotLogsIn is what clients are told where nobody can log in.
const RobotLogsIn = "nobody logs in there but the gateway, by client credentials: whoever runs it has to mend them"

// Cached is the State of a server whose lists are what it offered when it was last asked, before this start.
const Cached = "cached"

// Listed reports whether there is something to show of the server, or nothing to wait for.
func (s *Server) Listed() bool { return s.Settled || s.State == Cached }

// Entry is one item under its public name. Immutable.
type Entry struct {
	Kind     protocol.ItemKind
	Public   string // name or URI clients see
	Original string // name, URI or template text the server gave
	Server   *Server
	Source   []byte // the item's JSON as the server gave it

	item     *item
	pass     bool   // the item passes through as it is
	since    uint64 // the Version in which it last changed to clients; counted while there is a policy
	judged   atomic.Pointer[judged]
	remarked bool // in the snapshot before this one it was the same but for its server's State
	texts    atomic.Pointer[texts]
}

// texts are what clients read of an entry. They are made when somebody first asks: of ten thousand tools a client at the start
// reads one page.
type texts struct {
	raw, other []byte
	bindings   *protocol.Bindings
}

// Arguments is the schema that calls of a tool are checked against; nil = they are not checked.
func (e *Entry) Arguments() *toolschema.InputSchema { return e.item.arguments }

// Raw is the item's JSON, rewritten: public name, _meta keys.
func (e *Entry) Raw() []byte { return e.written().raw }

// Other is Raw for clients of the era that is not the server's; nil = the same.
func (e *Entry) Other() []byte { return e.written().other }

// Bindings are, of a tool, the arguments that travel in headers too (modern HTTP); nil = none.
func (e *Entry) Bindings() *protocol.Bindings { return e.written().bindings }

// written returns the texts. Two who ask at once both make them, and get the same.
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

// Naming is how public names are made, and what is listed of them; from the configuration.
type Naming struct {
	Namespace    config.Namespace
	URIStyle     string            // prefix | underscore | original
	Unlisted     string            // mentioned | forward; anything else refuses
	PageSize     int               // items a page; 0 = all on one
	MetaTools    bool              // the gateway's own tools are listed: no view passes through untouched, except /s/<server>
	OnlyMeta     bool              // nothing else is listed; what is not listed is found by name all the same
	Version      string            // of the gateway's program, told to clients
	ServerInfo   config.ServerInfo // what the gateway is called; a project may be called otherwise
	Instructions string            // ahead of those of the servers; a project may have others

	AutoMeta bool           // they are listed only in views with more than autoMeta other tools; they are found by name all the same
	Policy   *policy.Policy // what roles permit, where a key brings no policy along; nil = everything is permitted
}

// Key names a view: which part of the catalog a client sees.
type Key struct {
	Project  string // "" = everything
	Projects string // without Project: what these projects show together, as Together writes them; "" = everything
	Server   string // /s/<server>/mcp: that server alone under its own names; "" = all. With projects, what of it they show
	Rights   string // identity.Principal.Rights: what of that the roles permit. Where there is a policy "" permits nothing: nobody is forgotten

	// Policy is the one that Rights belong to; nil = that of the snapshot. A client is told of new rights before the registry publishes anything, or after: either
	// way its roles mean in every snapshot what they meant where they were given.
	Policy *policy.Policy
}
