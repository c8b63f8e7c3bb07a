// Package catalog is what all servers offer together under its public names: an immutable Snapshot and the
// Views of it that clients see. Everything in here is pure; the registry actor owns the newest one.
package catalog

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Server is a server as the catalog needs to know it. Immutable.
type Server struct {
	Name         string
	Order        int              // place in the configuration
	Pool         kernel.Reference // who takes calls for it
	Rules        config.Server    // prefix, filters, renames, description
	Instructions string           // from its handshake
	Capabilities []byte           // raw JSON from its handshake; nil = not known yet
	State        string           // "" or "cached": goes into every item's _meta["goblin-actor/state"]
}

// Entry is one item under its public name. Immutable.
type Entry struct {
	Kind     protocol.ItemKind
	Public   string // name or URI clients see
	Original string // name, URI or template text the server gave
	Server   *Server
	Raw      []byte             // the item's JSON, rewritten: public name, _meta keys
	Source   []byte             // the item's JSON as the server gave it
	Template *protocol.Template // kind Templates only
}

// Naming is how public names are made; from the configuration.
type Naming struct {
	Namespace config.Namespace
	URIStyle  string // prefix | underscore | original
	PageSize  int
}

// Key names a view: which part of the catalog a client sees.
type Key struct {
	Project string // "" = everything
	Server  string // /s/<server>/mcp: that server alone under its own names; "" = all
}

/*
To be provided in this package:

	// Source is what one server offers, as it gave it; what Build starts from.
	type Source struct { Server *Server; Items [protocol.ItemKinds][][]byte }

	// Build makes the next snapshot. generations[kind] goes up when the content of that kind (in any view) differs from
	// previous, or asked[kind]. previous may be nil.
	func Build(previous *Snapshot, sources []Source, naming Naming, asked [protocol.ItemKinds]bool) *Snapshot

	type Snapshot struct { Version uint64; Generation [protocol.ItemKinds]uint64; … }
	func (s *Snapshot) View(k Key) (*View, bool)             // derived once per key, cached; false: no such project/server
	func (s *Snapshot) Servers() []*Server ; func (s *Snapshot) Server(name string) *Server ; func (s *Snapshot) Counts(server string) [protocol.ItemKinds]int
	func (s *Snapshot) Warnings() []string                   // collisions etc., for the log

	type View struct …
	func (v *View) Snapshot() *Snapshot ; Generation [ItemKinds]uint64 ;
	func (v *View) Page(kind protocol.ItemKind, cursor string) (result []byte, fault *protocol.Fault) // whole result object, ready bytes; cursor opaque, "key after which to go on"; bad cursor → InvalidParams
	func (v *View) Entries(kind) []*Entry                    // sorted by public name or URI
	func (v *View) Tool(name string) (*Entry, *protocol.Fault)      // public name and every alias of contract.md section 4
	func (v *View) Prompt(name string) (*Entry, *protocol.Fault)
	func (v *View) Resource(uri string) (Found, *protocol.Fault)    // public, other style, raw original, templates; AMBIGUOUS_URI
	type Found struct { Server *Server; Original string; Entry *Entry }  // Original: the URI to send upstream
	func (v *View) Template(ref string) (*Entry, *protocol.Fault)   // completion ref by public or original template text
	func (v *View) PublicURI(server *Server, original string) string // for results: resource links, embedded resources, contents[].uri
	func (v *View) Instructions() string                     // each under its server's name, cut at 8 KiB
	func RewriteResult(v *View, server *Server, m protocol.Method, f *protocol.Frame) []protocol.Edit // URIs inside results of tools/call, prompts/get, resources/read; cheap when the bytes cannot hold any
*/
