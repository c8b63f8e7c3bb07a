package status

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of the changes of the catalog that are remembered. The newest stays, whatever its size.
const (
	maxChanges     = 4096
	maxChangeBytes = 8 << 20
)

// CatalogChange is what has become of one server's items of one kind between two versions of the catalog. Names and URIs are
// those clients see. Immutable.
type CatalogChange struct {
	Number  uint64       `json:"number"`            // from 1, without gaps
	Time    time.Time    `json:"time"`              // when it was published
	Topic   string       `json:"topic"`             // tool-changed, prompt-changed, resource-changed or template-changed
	Version uint64       `json:"version"`           // of the catalog that has it: Catalog.Version
	Server  string       `json:"server"`            // whose items they are, or were
	Added   []string     `json:"added,omitempty"`   // the first of them, in list order; CatalogChange.Counts says how many there are
	Removed []string     `json:"removed,omitempty"` // likewise
	Changed []ItemChange `json:"changed,omitempty"` // likewise
	Counts  ChangeCounts `json:"counts"`
}

// ItemChange is an item that is still there and says something else.
type ItemChange struct {
	Name    string   `json:"name"`              // or URI
	Members []string `json:"members,omitempty"` // of its JSON that differ, sorted: "inputSchema"; none: it is only arranged in another way, or too large to be looked into
}

// ChangeCounts are how many items a CatalogChange is about, those it does not name included.
type ChangeCounts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// Text says it in a few words, with at most that many names of each sort: "+2 tools (a, b), ~1 tool (c: inputSchema)". The names are
// the server's: they may hold anything.
func (c *CatalogChange) Text(names int) string {
	changed := make([]string, len(c.Changed))
	for i, item := range c.Changed {
		changed[i] = item.Name
		if len(item.Members) > 0 {
			changed[i] += ": " + strings.Join(item.Members, ", ")
		}
	}
	thing := strings.TrimSuffix(c.Topic, "-changed")
	var parts []string
	for _, p := range []struct {
		sign  string
		count int
		names []string
	}{{"+", c.Counts.Added, c.Added}, {"-", c.Counts.Removed, c.Removed}, {"~", c.Counts.Changed, changed}} {
		if p.count > 0 {
			parts = append(parts, p.sign+some(p.count, thing, p.names[:min(len(p.names), names)]))
		}
	}
	return strings.Join(parts, ", ")
}

// some is "3 tools (a, b, 1 more)".
func some(count int, thing string, names []string) string {
	text := fmt.Sprintf("%d %s", count, thing)
	if count != 1 {
		text += "s"
	}
	if len(names) == 0 {
		return text
	}
	text += " (" + strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	return text + ")"
}

// size is about how many bytes of memory it holds.
func (c *CatalogChange) size() int {
	n := 256
	for _, list := range [][]string{c.Added, c.Removed} {
		for _, name := range list {
			n += 16 + len(name)
		}
	}
	for _, item := range c.Changed {
		n += 40 + len(item.Name)
		for _, member := range item.Members {
			n += 16 + len(member)
		}
	}
	return n
}

// CatalogChanges remembers the newest changes of the catalog. Who reads too slowly loses the oldest, and knows it by the numbers. Safe
// from any goroutine; nothing in it blocks.
type CatalogChanges struct {
	boot string

	mu    sync.Mutex
	kept  []CatalogChange // oldest first, numbers without gaps
	bytes int
	last  uint64
	more  chan struct{} // closed when something is added
}

// NewCatalogChanges returns an empty one.
func NewCatalogChanges() *CatalogChanges {
	return &CatalogChanges{boot: rand.Text()[:12], more: make(chan struct{})}
}

// Boot tells these numbers from those of another process or life.
func (c *CatalogChanges) Boot() string { return c.boot }

// Last returns the number of the newest change, 0 when there was none.
func (c *CatalogChanges) Last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Add numbers the changes and remembers them. It takes the slices inside.
func (c *CatalogChanges) Add(changes []CatalogChange) {
	if len(changes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		c.last++
		change.Number = c.last
		c.kept = append(c.kept, change)
		c.bytes += change.size()
	}
	gone := 0
	for ; gone < len(c.kept)-1 && (len(c.kept)-gone > maxChanges || c.bytes > maxChangeBytes); gone++ {
		c.bytes -= c.kept[gone].size()
	}
	c.kept = slices.Delete(c.kept, 0, gone)
	close(c.more)
	c.more = make(chan struct{})
}

// After returns the remembered changes with a number above after, oldest first, and a channel that is closed as soon as there are more.
// Those between after and the first returned are lost.
func (c *CatalogChanges) After(after uint64) ([]CatalogChange, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(uint64(len(c.kept)), c.last-min(after, c.last))
	return slices.Clone(c.kept[uint64(len(c.kept))-n:]), c.more
}
