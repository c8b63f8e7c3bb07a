package catalog

import "goblin-actor/protocol"

// Source is what one server offers, as it gave it; what Build starts from. Build keeps the slices: nobody writes to them any more.
type Source struct {
	Server *Server
	Items  [protocol.ItemKinds][][]byte // raw JSON objects in the server's order
	Asked  [protocol.ItemKinds]bool     // counts as changed, even if equal, in every view the server is in
}

// Snapshot is the whole catalog at one moment. Immutable.
type Snapshot struct {
	Version    uint64                     // goes up by one with each Build
	Generation [protocol.ItemKinds]uint64 // the Version in which this kind last changed
}

// Build makes the snapshot that follows previous (nil = the first one) from all sources in any order.
// The generation of a kind goes up when its content differs from previous, or when asked says so.
func Build(previous *Snapshot, sources []Source, naming Naming, asked [protocol.ItemKinds]bool) *Snapshot {
	return &Snapshot{}
}

// View returns what a client with this key sees; false when there is no such server or project.
// It is derived once per key. Safe from any goroutine.
func (s *Snapshot) View(k Key) (*View, bool) { return nil, false }

// Servers returns the servers that are not disabled, in the order of the configuration. Not to be written to.
func (s *Snapshot) Servers() []*Server { return nil }

// Server returns the server of that name, nil when there is none or it is disabled.
func (s *Snapshot) Server(name string) *Server { return nil }

// Counts returns how many items of each kind the server has in the whole catalog, after filters.
func (s *Snapshot) Counts(server string) [protocol.ItemKinds]int { return [protocol.ItemKinds]int{} }

// Warnings says what a person should know about this catalog: collisions, items left out. For the log.
func (s *Snapshot) Warnings() []string { return nil }
