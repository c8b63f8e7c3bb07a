package status

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Bounds of what is remembered of the calls that have ended, by server: the newest, and beside them the newest of those that
// failed, which successes never wash out.
const (
	maxFinished     = 256
	maxFailed       = 64
	maxFinishedItem = 200 // bytes of a name or URI
)

// FinishedCall is a call that has ended.
type FinishedCall struct {
	Number  uint64    `json:"number"` // rising in the order in which calls end
	Session string    `json:"session"`
	Client  string    `json:"client,omitempty"` // name and version
	Server  string    `json:"server"`
	Method  string    `json:"method"`
	Item    string    `json:"item,omitempty"`   // as the server calls it
	Public  string    `json:"public,omitempty"` // as clients call it; empty = unknown
	Outcome string    `json:"outcome"`          // as in goblin_calls_total
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"` // from arrival to answer
}

// Failed tells whether its caller got no result, or one that says isError.
func (f FinishedCall) Failed() bool { return f.Outcome != OutcomeOK.String() }

// Ended is what the holder of a call knows when it is over.
type Ended struct {
	Session string // as people are shown it
	Client  string // name and version
	Method  protocol.Method
	Item    string // of the call, not of a frame
	Public  string // likewise
	Outcome Outcome
	Began   time.Time
	Took    time.Duration
}

// kept is an Ended with its number: small, and without what is the same for all.
type kept struct {
	number uint64
	Ended
}

// finished is what a server remembers. It grows with use.
type finished struct {
	mu     sync.Mutex
	newest callRing
	failed callRing
}

// callRing holds the newest of what it was given, at most as many as add says.
type callRing struct {
	calls []kept
	next  int // where the next one goes when it is full
}

func (r *callRing) add(call kept, most int) {
	if len(r.calls) < most {
		r.calls = append(r.calls, call)
		return
	}
	r.calls[r.next] = call
	r.next = (r.next + 1) % most
}

// Ended counts a call and remembers it.
func (s *ServerMetrics) Ended(e Ended) {
	s.Call(e.Method, e.Outcome, e.Took.Seconds())
	e.Item, e.Public = cutItem(e.Item), cutItem(e.Public)
	call := kept{s.all.ended.Add(1), e}
	s.finished.mu.Lock()
	defer s.finished.mu.Unlock()
	s.finished.newest.add(call, maxFinished)
	if e.Outcome != OutcomeOK {
		s.finished.failed.add(call, maxFailed)
	}
}

// cutItem bounds what is kept of a name or URI.
func cutItem(s string) string {
	if len(s) <= maxFinishedItem {
		return s
	}
	return strings.ToValidUTF8(strings.Clone(s[:maxFinishedItem]), "") + "…"
}

// Finished returns the calls that have ended and are remembered, of one server or, with "", of all; those with a number above
// after, the one that ended first at the front.
func (m *Metrics) Finished(server string, after uint64) []FinishedCall {
	m.mu.RLock()
	servers := make([]*ServerMetrics, 0, len(m.servers))
	for name, s := range m.servers {
		if server == "" || name == server {
			servers = append(servers, s)
		}
	}
	m.mu.RUnlock()
	out := []FinishedCall{} // in JSON nobody is [], not null
	for _, s := range servers {
		out = s.finishedAfter(after, out)
	}
	slices.SortFunc(out, func(a, b FinishedCall) int { return cmp.Compare(a.Number, b.Number) })
	return slices.CompactFunc(out, func(a, b FinishedCall) bool { return a.Number == b.Number }) // a failed one may stand in both
}

func (s *ServerMetrics) finishedAfter(after uint64, out []FinishedCall) []FinishedCall {
	s.finished.mu.Lock()
	defer s.finished.mu.Unlock()
	for _, ring := range []*callRing{&s.finished.newest, &s.finished.failed} {
		for _, c := range ring.calls {
			if c.number > after {
				out = append(out, FinishedCall{c.number, c.Session, c.Client, s.name, c.Method.String(), c.Item, c.Public, c.Outcome.String(), c.Began, c.Took.Seconds()})
			}
		}
	}
	return out
}
