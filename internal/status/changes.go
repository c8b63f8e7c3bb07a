package status

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of stored changes to the catalog. The last change is always stored, regardless of its size.
const (
	maxChanges     = 4096
	maxChangeBytes = 8 << 20
)

// CatalogChange is a change of one server's items of one kind between two versions of the catalog. Names and URIs are
// the public ones. A CatalogChange is immutable.
type CatalogChange struct {
	Number  uint64       `json:"number"`            // from 1, without gaps
	Time    time.Time    `json:"time"`              // time of publication
	Topic   string       `json:"topic"`             // tool-changed, prompt-changed, resource-changed or template-changed
	Version uint64       `json:"version"`           // version of the catalog with the change: Catalog.Version
	Server  string       `json:"server"`            // the server that owns, or owned, the items
	Added   []string     `json:"added,omitempty"`   // names or URIs of the first 20 added items, in list order; Counts has the total
	Removed []string     `json:"removed,omitempty"` // names or URIs of the first 20 removed items
	Changed []ItemChange `json:"changed,omitempty"` // the first 20 changed items
	Counts  ChangeCounts `json:"counts"`
}

// ItemChange is an item whose definition has changed.
type ItemChange struct {
	Name    string   `json:"name"`              // name or URI
	Members []string `json:"members,omitempty"` // names of JSON fields that differ, sorted, at most 10, such as "inputSchema"; empty = only formatted differently, or too large to compare
}

// ChangeCounts are the total numbers of items in a CatalogChange, including those it does not list.
type ChangeCounts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// Text describes the change in a few words: "+2 tools (a, b), ~1 tool (c: inputSchema)". Of the added, the removed and the
// changed items, it names at most the given number each. Names come from the server and may contain anything.
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

// some formats a count with names: "3 tools (a, b, 1 more)".
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

// size estimates the change's memory use in bytes.
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

// CatalogChanges stores the last changes to the catalog. A slow reader misses the oldest changes, which it notices by
// a gap in their numbers. It is safe for concurrent use and never blocks.
type CatalogChanges struct {
	boot string

	mu    sync.Mutex
	kept  []CatalogChange // oldest first, numbers without gaps
	bytes int
	last  uint64
	more  chan struct{} // closed and replaced when changes are added
}

// NewCatalogChanges returns an empty store.
func NewCatalogChanges() *CatalogChanges {
	return &CatalogChanges{boot: rand.Text()[:12], more: make(chan struct{})}
}

// Boot identifies the numbering: another process has another value.
func (c *CatalogChanges) Boot() string { return c.boot }

// Last returns the number of the last change, or 0.
func (c *CatalogChanges) Last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Add numbers and stores the changes. It takes ownership of their slices.
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

// After returns the stored changes with a number above after, oldest first, and a channel that is closed when there are more.
// Changes between after and the first returned one are lost.
func (c *CatalogChanges) After(after uint64) ([]CatalogChange, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(uint64(len(c.kept)), c.last-min(after, c.last))
	return slices.Clone(c.kept[uint64(len(c.kept))-n:]), c.more
}
