package status

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
)

// Limits of stored calls per server. The last failed calls are also stored separately, so that successful calls do not
// displace them.
const (
	maxFinished     = 256
	maxFailed       = 64
	maxFinishedItem = 200 // bytes of a name or URI
)

// FinishedCall is a call that has ended.
type FinishedCall struct {
	Number  uint64    `json:"number"` // increasing, in the order in which calls end
	Session string    `json:"session"`
	Client  string    `json:"client,omitempty"` // name and version
	Server  string    `json:"server"`           // empty = no server: the item is unknown
	Method  string    `json:"method"`
	Item    string    `json:"item,omitempty"`   // name or URI as the server defines it
	Public  string    `json:"public,omitempty"` // the public name; empty = unknown
	Outcome string    `json:"outcome"`          // label of goblin_calls_total
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"` // time from arrival to answer

	Who     string `json:"who,omitempty"`     // name of the principal; empty = no authentication
	Backend string `json:"backend,omitempty"` // connection that carried the call, as <replica>.<incarnation>; empty = none, or unknown
	Version string `json:"version,omitempty"` // protocol version of the client
	Peer    string `json:"peer,omitempty"`    // protocol version of the server on that connection
	Code    string `json:"code,omitempty"`    // name of the gateway's error, or number of the server's; empty = a result
	Error   string `json:"error,omitempty"`   // the first bytes of the error's text
	In      int64  `json:"in,omitempty"`      // bytes of the request
	Out     int64  `json:"out,omitempty"`     // bytes of the answer

	Taken    time.Time `json:"taken,omitzero"`    // when the call left the queue for Backend
	Written  time.Time `json:"written,omitzero"`  // when the request reached the server
	Asked    time.Time `json:"asked,omitzero"`    // when the server first sent a request to the client
	Answered time.Time `json:"answered,omitzero"` // when the server's answer arrived
}

// Failed reports whether the caller got an error, or a result with isError.
func (f FinishedCall) Failed() bool { return f.Outcome != OutcomeOK.String() }

// Ended describes a call that has just ended.
type Ended struct {
	Session string // short id for display
	Client  string // name and version
	Method  protocol.Method
	Item    string // must not refer to a frame's memory
	Public  string // must not refer to a frame's memory
	Outcome Outcome
	Began   time.Time
	Took    time.Duration

	Sent    time.Time      // when the request was written to the server; zero = it was not
	Version string         // protocol version of the client
	Code    int            // JSON-RPC error code of the server's answer; 0 = a result, or no answer
	Trace   *trace.Request // nil = the request is not sampled
}

// kept is a stored Ended with its number. The server's name is that of the ServerMetrics.
type kept struct {
	number uint64
	Ended
}

// finished stores calls of a server. Its rings grow with use, up to maxFinished and maxFailed calls.
type finished struct {
	mu     sync.Mutex
	newest callRing
	failed callRing
}

// callRing is a ring buffer of the last calls. Its capacity is the argument most of add.
type callRing struct {
	calls []kept
	next  int // index of the next entry to overwrite when full
}

func (r *callRing) add(call kept, most int) {
	if len(r.calls) < most {
		r.calls = append(r.calls, call)
		return
	}
	r.calls[r.next] = call
	r.next = (r.next + 1) % most
}

// Ended counts and stores a call.
func (s *ServerMetrics) Ended(e Ended) {
	s.Call(e.Method, e.Outcome, e.Took.Seconds())
	s.all.operations.callEnded(s.name, &s.near[bounded(e.Method)], &e)
	if s.all.observer != nil {
		s.all.observer.CallEnded(s.name, e)
	}
	e.Item, e.Public, e.Trace = cutItem(e.Item), cutItem(e.Public), nil
	s.finished.mu.Lock()
	defer s.finished.mu.Unlock()
	call := kept{s.all.ended.Add(1), e} // with the lock, so that Finished misses no call
	s.finished.newest.add(call, maxFinished)
	if e.Outcome != OutcomeOK {
		s.finished.failed.add(call, maxFailed)
	}
}

// cutItem truncates a name or URI.
func cutItem(s string) string {
	if len(s) <= maxFinishedItem {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:maxFinishedItem]), "") + "…"
}

// Finished returns stored calls with a number above after, ordered by number, of one server or, with "", of all
// servers.
func (m *Metrics) Finished(server string, after uint64) []FinishedCall {
	last := m.ended.Load() // the calls up to this number are stored, or will be before their server is unlocked
	m.mu.RLock()
	servers := make([]*ServerMetrics, 0, len(m.servers))
	for name, s := range m.servers {
		if server == "" || name == server {
			servers = append(servers, s)
		}
	}
	m.mu.RUnlock()
	out := []FinishedCall{} // an empty list in JSON is [], not null
	for _, s := range servers {
		out = s.finishedAfter(after, out)
	}
	out = slices.DeleteFunc(out, func(f FinishedCall) bool { return f.Number > last }) // calls with lower numbers may have been missed
	slices.SortFunc(out, func(a, b FinishedCall) int { return cmp.Compare(a.Number, b.Number) })
	return slices.CompactFunc(out, func(a, b FinishedCall) bool { return a.Number == b.Number }) // a failed call may be in both rings
}

func (s *ServerMetrics) finishedAfter(after uint64, out []FinishedCall) []FinishedCall {
	s.finished.mu.Lock()
	defer s.finished.mu.Unlock()
	for _, ring := range []*callRing{&s.finished.newest, &s.finished.failed} {
		for _, c := range ring.calls {
			if c.number > after {
				out = append(out, FinishedCall{
					Number: c.number, Session: c.Session, Client: c.Client, Server: s.name, Method: c.Method.String(), Item: c.Item, Public: c.Public,
					Outcome: c.Outcome.String(), Began: c.Began, Seconds: c.Took.Seconds(),
				})
			}
		}
	}
	return out
}
