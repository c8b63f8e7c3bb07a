package status

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"goblin-actor/protocol"
)

// Limits of items that are counted separately. All others are counted as RestOfItems.
const (
	maxCountedItems = 10_000 // of one server
	maxCountedName  = 512    // bytes of a name, URI or template text
)

// RestOfItems is the Original for all items that are not counted separately: those beyond maxCountedItems, unlisted ones, and those with
// a long name.
const RestOfItems = "_OTHER"

// ItemUsage counts the finished calls of one item since the start of the gateway.
type ItemUsage struct {
	Kind     string    `json:"kind"` // tool | prompt | resource | template
	Server   string    `json:"server"`
	Original string    `json:"original"`         // name, URI or template text as the server defines it; RestOfItems = all others of the kind
	Public   string    `json:"public,omitempty"` // the public name in the newest catalog in which it was called; empty = several items
	Calls    uint64    `json:"calls"`
	Failed   uint64    `json:"failed,omitempty"`  // of these, calls whose outcome is not ok
	Refused  uint64    `json:"refused,omitempty"` // of the failed, calls that the gateway refused, so that the server did not receive them
	Seconds  float64   `json:"seconds"`           // sum of the durations
	Last     time.Time `json:"last,omitzero"`     // end of the newest call
}

// ItemCounters counts the finished calls of one item. It is safe for concurrent use, and never allocates.
type ItemCounters struct {
	public   atomic.Pointer[string]
	labelled bool // has its own label in /metrics; does not change
	ok       atomic.Uint64
	failed   atomic.Uint64 // without the refused ones
	refused  atomic.Uint64
	nanos    atomic.Int64
	last     atomic.Int64 // Unix nanoseconds
}

// itemKey identifies an item of a server.
type itemKey struct {
	kind     protocol.ItemKind
	original string
}

// itemKinds are the names of the kinds of items.
var itemKinds = [protocol.ItemKinds]string{protocol.Tools: "tool", protocol.Prompts: "prompt", protocol.Resources: "resource", protocol.Templates: "template"}

// KindOfItem returns the kind of items for a value of ItemUsage.Kind, or false if there is no such kind.
func KindOfItem(name string) (protocol.ItemKind, bool) {
	i := slices.Index(itemKinds[:], name)
	return protocol.ItemKind(max(i, 0)), i >= 0
}

// Item returns the counters of an item, under the name by which the server knows it. They are the same for each snapshot of the
// catalog. It takes a lock, so callers should keep the result.
func (s *ServerMetrics) Item(kind protocol.ItemKind, original, public string) *ItemCounters {
	key := itemKey{kind, original}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.items[key]
	if c == nil {
		if len(s.items) >= maxCountedItems || len(original) > maxCountedName || len(public) > maxCountedName || original == RestOfItems {
			return &s.rest[kind]
		}
		if s.items == nil {
			s.items = map[itemKey]*ItemCounters{}
		}
		c = &ItemCounters{labelled: kind == protocol.Tools && s.labels(original)}
		s.items[itemKey{kind, strings.Clone(original)}] = c
	}
	if p := c.public.Load(); p == nil || *p != public {
		public = strings.Clone(public)
		c.public.Store(&public)
	}
	return c
}

// CountsItem returns the kind of items for which calls of a method are counted, or false if there is none. For resources/read it returns
// protocol.Resources, even if the URI belongs to a template.
func CountsItem(method protocol.Method) (protocol.ItemKind, bool) {
	switch method {
	case protocol.MethodToolsCall:
		return protocol.Tools, true
	case protocol.MethodPromptsGet:
		return protocol.Prompts, true
	case protocol.MethodResourcesRead:
		return protocol.Resources, true
	}
	return 0, false
}

// countItem counts a call for its item, if its method uses one.
func (s *ServerMetrics) countItem(e *Ended) {
	kind, counts := CountsItem(e.Method)
	if !counts {
		return
	}
	c := e.Counters
	if c == nil {
		c = &s.rest[kind]
	}
	c.nanos.Add(max(0, int64(e.Took)))
	c.last.Store(e.Began.Add(e.Took).UnixNano())
	switch e.Outcome { // one counter a call: sums and differences of several could decrease between two scrapes
	case OutcomeOK:
		c.ok.Add(1)
	case OutcomeUnavailable, OutcomeQueueFull:
		c.refused.Add(1)
	default:
		c.failed.Add(1)
	}
}

// usage returns the counters, or false if there was no call.
func (c *ItemCounters) usage(server string, key itemKey) (u ItemUsage, called bool) {
	u = ItemUsage{Kind: itemKinds[key.kind], Server: server, Original: key.original, Refused: c.refused.Load(), Seconds: float64(c.nanos.Load()) / 1e9}
	u.Failed = u.Refused + c.failed.Load()
	u.Calls = u.Failed + c.ok.Load()
	if p := c.public.Load(); p != nil {
		u.Public = *p
	}
	if at := c.last.Load(); at != 0 {
		u.Last = time.Unix(0, at).UTC()
	}
	return u, u.Calls > 0
}

// Usage returns the counters of all items that were called, sorted by server, kind and name.
func (m *Metrics) Usage() []ItemUsage {
	all := []ItemUsage{} // an empty list in JSON is [], not null
	for _, s := range m.allServers() {
		s.mu.RLock()
		for key, c := range s.items {
			if u, called := c.usage(s.name, key); called {
				all = append(all, u)
			}
		}
		s.mu.RUnlock()
		for kind := range s.rest {
			if u, called := s.rest[kind].usage(s.name, itemKey{protocol.ItemKind(kind), RestOfItems}); called {
				all = append(all, u)
			}
		}
	}
	slices.SortFunc(all, func(a, b ItemUsage) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Original, b.Original))
	})
	return all
}

// Usage implements Source.
func (l Local) Usage(context.Context) ([]ItemUsage, error) {
	return without(l.Counters.Usage(), l.Known), nil
}

// Series returns what happened in the recent past, for the gateway and for each server. It leaves out intervals that began
// before the given time, in Unix seconds. If after is 0, it returns all.
func (l Local) Series(ctx context.Context, after int64) ([]Series, error) {
	return l.Gateway.Series(ctx, after)
}

// Item implements Source.
func (l Local) Item(ctx context.Context, kind, public string) ([]byte, error) {
	item, err := l.Gateway.Item(ctx, kind, public)
	return l.Shown(item), err
}
