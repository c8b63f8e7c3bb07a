package backend

import (
	"encoding/json"
	"slices"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// maxAdditional is the maximum number of additional streams.
const maxAdditional = 32

// streams holds a modern server's streams of change notifications. One stream reports the changes of all lists that the
// server offers, and of the resources whose URIs are wanted. When these URIs change, a new stream is opened. The old one
// is closed overlapTime after the new one was acknowledged.
//
// Over stdio, streams are not replaced: URIs that are wanted later get an additional stream, and notifications about
// URIs that are no longer wanted are ignored. The reason is that at the end of any stream some servers drop the
// subscriptions of the connection's other streams (go-sdk 1.8.0, mcp/server.go, subscriptionsListen). Beyond maxAdditional,
// one stream replaces all.
type streams struct {
	first      *changeStream   // acknowledged; nil = none
	additional []*changeStream // additional streams, acknowledged
	opening    *changeStream   // opened, not acknowledged yet
	replaced   []*changeStream // replaced, but still read for overlapTime
	stdio      bool            // the connection is over stdio

	wanted   map[string]bool   // URIs about which the pool wants updates
	queries  map[uint64]string // the pool's subscribe requests that wait for an acknowledgment, and their URIs
	refused  bool              // the server does not support such streams
	missed   bool              // changes may have been missed, because there was no stream for a while
	paused   bool              // a stream is opened again after a pause
	attempt  int               // counts the pauses, so that older timers are ignored
	failures int               // consecutive short-lived streams
	overlap  overlap
}

// changeStream is one subscriptions/listen request. MCP 2026-07-28, basic/patterns/subscriptions.
type changeStream struct {
	id         uint32
	since      time.Time                // when it was acknowledged; zero = not yet
	requested  []string                 // requested URIs, including those of tasks
	additional bool                     // it is an additional stream
	kinds      [protocol.ItemKinds]bool // acknowledged lists
	uris       map[string]bool          // acknowledged URIs
}

// acknowledgedNothing reports whether the server has acknowledged neither lists nor URIs on the stream.
func (st *changeStream) acknowledgedNothing() bool {
	return st.kinds == [protocol.ItemKinds]bool{} && len(st.uris) == 0
}

// promise records the server's acknowledgment, raw JSON. Invalid values and URIs that were not requested are ignored.
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

// overlap collects changes that two streams may both report, so that each is reported to the pool once.
type overlap struct {
	armed bool
	kinds [protocol.ItemKinds]bool
	uris  map[string]message.ResourceChanged // at most maxLate
	all   bool                               // there were more
}

// maxLate is the maximum number of changed resources that are collected during an overlap. Beyond it, all resources are
// reported as changed.
const maxLate = 1024

// reports reports whether the server has acknowledged that it reports changes to the list.
func (l *streams) reports(kind protocol.ItemKind) bool { return l.first != nil && l.first.kinds[kind] }

// overlapping reports whether two streams may report the same changes.
func (l *streams) overlapping() bool {
	return len(l.replaced) > 0 || l.first != nil && l.opening != nil && !l.opening.additional
}

// all returns the open streams, newest last.
func (l *streams) all() []*changeStream {
	all := append(slices.Clone(l.replaced), l.first)
	all = append(append(all, l.additional...), l.opening)
	return slices.DeleteFunc(all, func(st *changeStream) bool { return st == nil })
}

// addsStream reports whether the next stream is opened in addition to the others.
func (l *streams) addsStream() bool {
	return l.stdio && l.first != nil && len(l.additional) < maxAdditional
}

// lasting returns the acknowledged streams that have not been replaced.
func (l *streams) lasting() []*changeStream {
	if l.first == nil {
		return l.additional
	}
	return append(slices.Clone(l.additional), l.first)
}

// takeOver replaces all streams with one. The old ones stay open a little longer.
func (l *streams) takeOver(st *changeStream) {
	l.replaced = l.additional
	if l.first != nil {
		l.replaced = append(l.replaced, l.first)
	}
	l.first, l.additional = st, nil
}

// askedFor reports whether a stream was opened for the URI.
func (l *streams) askedFor(uri string) bool {
	return slices.ContainsFunc(l.lasting(), func(st *changeStream) bool { return slices.Contains(st.requested, uri) })
}

// has reports whether the server has acknowledged the URI on a stream. A URI that was not acknowledged may be requested
// again.
func (l *streams) has(uri string) bool {
	return slices.ContainsFunc(l.lasting(), func(st *changeStream) bool { return st.uris[uri] })
}

// promised reports whether the server has acknowledged the URI and the stream is not about to be closed.
func (l *streams) promised(uri string) bool {
	return (l.opening == nil || l.opening.additional) && l.has(uri)
}

// outdated reports whether a new stream is needed: the wanted URIs have changed or are requested again, or the first
// stream ended while an additional one was opened.
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
