package backend

import (
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// maxBeside is how many streams may be open beside the first one.
const maxBeside = 32

// streams is what a modern server tells of changes: one stream with all kinds it offers and the URIs wanted now. When
// these change, a new one is opened, and only when it is acknowledged the old one is closed.
//
// Over stdio no stream is closed for that: what is wanted later has a stream of its own beside the others, and what is
// no longer wanted is ignored. The reason: at the end of any stream some servers forget what the others of the same connection
// were opened for (go-sdk 1.8.0, mcp/server.go, subscriptionsListen). Beyond maxBeside one stream takes the place of all.
type streams struct {
	first    *changeStream   // acknowledged; nil = none
	beside   []*changeStream // likewise, beside it
	opening  *changeStream   // opened, not acknowledged yet
	replaced []*changeStream // replaced, still heard for overlapTime
	stdio    bool            // over stdio

	wanted   map[string]bool   // URIs the pool wants updates of
	queries  map[uint64]string // the pool's subscribes that wait for an acknowledgment, and their URIs
	refused  bool              // the server does not do this at all
	missed   bool              // changes may have been missed: there was no stream for a while
	paused   bool              // before a stream is opened again
	attempt  int               // counts pauses, so that a timer knows its own
	failures int               // streams in a row that lived for a short time only
	overlap  overlap
}

// changeStream is one subscriptions/listen request. MCP 2026-07-28, basic/patterns/subscriptions.
type changeStream struct {
	id           uint32
	since        time.Time                // when it was acknowledged; zero = not yet
	requested    []string                 // URIs, those of tasks too
	standsBeside bool                     // it was opened to stand beside the others
	kinds        [protocol.ItemKinds]bool // acknowledged
	uris         map[string]bool          // acknowledged
}

// acknowledgedNothing reports whether the server has acknowledged nothing on the stream.
func (st *changeStream) acknowledgedNothing() bool {
	return st.kinds == [protocol.ItemKinds]bool{} && len(st.uris) == 0
}

// promise records what the server has acknowledged, raw JSON. Invalid values and URIs that were not asked for are
// ignored.
func (st *changeStream) promise(raw []byte) {
	var filter struct {
		ToolsListChanged, PromptsListChanged, ResourcesListChanged bool
		ResourceSubscriptions, TaskIDs                             []string
	}
	_ = json.Unmarshal(raw, &filter)
	st.kinds = [protocol.ItemKinds]bool{
		protocol.Tools: filter.ToolsListChanged, protocol.Prompts: filter.PromptsListChanged,
		protocol.Resources: filter.ResourcesListChanged, protocol.Templates: filter.ResourcesListChanged,
	}
	uris := filter.ResourceSubscriptions
	for _, id := range filter.TaskIDs {
		uris = append(uris, message.TaskURI(id))
	}
	st.uris = map[string]bool{}
	for _, uri := range uris {
		if slices.Contains(st.requested, uri) {
			st.uris[uri] = true
		}
	}
}

// overlap collects changes that two streams may both report, so that each is passed on once.
type overlap struct {
	armed bool
	kinds [protocol.ItemKinds]bool
	uris  map[string]message.ResourceChanged // at most maxLate
	all   bool                               // there were more
}

// maxLate is how many resources that changed during an overlap are kept by name.
const maxLate = 1024

// tells reports whether the server has promised to report changes of the list.
func (l *streams) tells(kind protocol.ItemKind) bool { return l.first != nil && l.first.kinds[kind] }

// overlapping reports whether two streams may report the same changes.
func (l *streams) overlapping() bool {
	return len(l.replaced) > 0 || l.first != nil && l.opening != nil && !l.opening.standsBeside
}

// all returns the open streams, the newest last.
func (l *streams) all() []*changeStream {
	all := append(slices.Clone(l.replaced), l.first)
	all = append(append(all, l.beside...), l.opening)
	return slices.DeleteFunc(all, func(st *changeStream) bool { return st == nil })
}

// opensBeside reports whether the next stream is opened beside the others.
func (l *streams) opensBeside() bool { return l.stdio && l.first != nil && len(l.beside) < maxBeside }

// lasting returns the acknowledged streams that are not about to be closed.
func (l *streams) lasting() []*changeStream {
	if l.first == nil {
		return l.beside
	}
	return append(slices.Clone(l.beside), l.first)
}

// takeOver replaces all streams with one. The old ones stay open a little longer.
func (l *streams) takeOver(st *changeStream) {
	l.replaced = l.beside
	if l.first != nil {
		l.replaced = append(l.replaced, l.first)
	}
	l.first, l.beside = st, nil
}

// askedFor reports whether a stream was opened for the URI.
func (l *streams) askedFor(uri string) bool {
	return slices.ContainsFunc(l.lasting(), func(st *changeStream) bool { return slices.Contains(st.requested, uri) })
}

// has reports whether a stream has the URI acknowledged. A URI that was refused may be asked for again.
func (l *streams) has(uri string) bool {
	return slices.ContainsFunc(l.lasting(), func(st *changeStream) bool { return st.uris[uri] })
}

// promised reports whether the server has acknowledged the URI and the stream is not about to be closed.
func (l *streams) promised(uri string) bool {
	return (l.opening == nil || l.opening.standsBeside) && l.has(uri)
}

// outdated reports whether a new stream is needed: the wanted URIs have changed or are asked for again, or the
// first stream ended while another was opened beside it.
func (l *streams) outdated() bool {
	if l.first == nil || len(l.queries) > 0 {
		return true
	}
	for uri := range l.wanted {
		if !l.askedFor(uri) {
			return true
		}
	}
	for uri := range l.first.uris {
		if !l.wanted[uri] && !l.stdio {
			return true
		}
	}
	return false
}
