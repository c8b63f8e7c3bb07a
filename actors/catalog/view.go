package catalog

import "goblin-actor/protocol"

// View is the part of a Snapshot one kind of client sees, under the names it sees. Immutable; safe from any goroutine.
type View struct {
	Generation [protocol.ItemKinds]uint64 // the Snapshot.Version in which this kind last changed in this view
}

// Found is where a URI leads.
type Found struct {
	Server   *Server
	Original string // the URI to send to the server
	Entry    *Entry // the resource listed under it, or the template it matches
}

// Snapshot returns the snapshot the view is a part of.
func (v *View) Snapshot() *Snapshot { return nil }

// Servers returns the servers in view, in the order of the configuration. Not to be written to.
func (v *View) Servers() []*Server { return nil }

// PassThrough reports whether names, URIs and items are the server's own, byte for byte.
func (v *View) PassThrough() bool { return false }

// Page returns the result object of a list request, ready to be sent: shared bytes nobody writes to.
// An empty cursor (or none) asks for the first page. A cursor that is not ours is an InvalidParams fault.
func (v *View) Page(kind protocol.ItemKind, cursor string) ([]byte, *protocol.Fault) { return nil, nil }

// Entries returns the items of a kind in list order. Not to be written to.
func (v *View) Entries(kind protocol.ItemKind) []*Entry { return nil }

// Tool finds a tool by its public name or any alias of it.
func (v *View) Tool(name string) (*Entry, *protocol.Fault) { return nil, nil }

// Prompt finds a prompt by its public name or any alias of it.
func (v *View) Prompt(name string) (*Entry, *protocol.Fault) { return nil, nil }

// Replica returns n when name is of the form server:tool@n, -1 when the caller did not ask for a replica.
func (v *View) Replica(name string) int { return -1 }

// Resource finds where a URI leads: public, in the other style, the server's own, or an expansion of a template.
func (v *View) Resource(uri string) (Found, *protocol.Fault) { return Found{}, nil }

// Template finds what a completion reference means: a template by its public or own text, or a listed resource.
func (v *View) Template(ref string) (*Entry, *protocol.Fault) { return nil, nil }

// PublicURI returns how a URI that server uses is written to clients.
func (v *View) PublicURI(server *Server, original string) string { return original }

// Instructions returns those of the servers in view, each under its server's name, cut at 8 KiB.
func (v *View) Instructions() string { return "" }

// RewriteResult returns the edits that make the URIs in a server's result public: resource links and embedded
// resources of tools/call and prompts/get, contents of resources/read. Text and blobs are never touched.
func RewriteResult(v *View, server *Server, m protocol.Method, f *protocol.Frame) []protocol.Edit {
	return nil
}
