package status

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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
	Number  uint64    `json:"number"`       // increasing, in the order in which calls end
	ID      string    `json:"id,omitempty"` // Call.ID while it was in flight; empty = the request did not become a call
	Session string    `json:"session"`
	Client  string    `json:"client,omitempty"` // name and version
	Server  string    `json:"server"`           // empty = the gateway refused the request before it chose a server, for example an unknown name
	Method  string    `json:"method"`
	Item    string    `json:"item,omitempty"`   // name or URI as the server defines it
	Public  string    `json:"public,omitempty"` // the public name; empty = unknown
	Outcome string    `json:"outcome"`          // label of goblin_calls_total
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"` // time from arrival to answer

	Who     string `json:"who,omitempty"`     // name of the principal; empty = no authentication
	Backend string `json:"backend,omitempty"` // Backend.Name of the connection that carried the call; empty = none, or unknown
	Version string `json:"version,omitempty"` // protocol version of the client
	Peer    string `json:"peer,omitempty"`    // protocol version of the server on that connection
	Code    string `json:"code,omitempty"`    // name of the gateway's error, or number of the server's; empty = a result
	Error   string `json:"error,omitempty"`   // the first bytes of the error's text; never that of a result with isError
	In      int64  `json:"in,omitempty"`      // bytes of the request
	Out     int64  `json:"out,omitempty"`     // bytes of the server's answer

	Taken    time.Time `json:"taken,omitzero"`    // when the call left the queue
	Written  time.Time `json:"written,omitzero"`  // when the request was written to the server
	Asked    time.Time `json:"asked,omitzero"`    // when the server first sent a request to the client
	Answered time.Time `json:"answered,omitzero"` // when the server's answer arrived
}

// Failed reports whether the call did not succeed: it ended with an error or a result with isError, or was canceled.
func (f FinishedCall) Failed() bool { return f.Outcome != OutcomeOK.String() }

// kept is a stored call: the fields of Ended that FinishedCall needs, in few bytes.
type kept struct {
	number                          uint64
	session, client, who, version   string
	holder                          string
	seq                             uint64
	item, public                    string
	route                           *Route
	failure                         *Failure
	began                           time.Time
	took                            time.Duration
	taken, written, asked, answered Moment
	in, out                         int64
	method                          protocol.Method
	outcome                         Outcome
}

// finished stores the latest calls of a server, and the latest failed ones separately. Its rings grow with use, up to
// maxFinished and maxFailed calls.
type finished struct {
	mu     sync.Mutex
	newest callRing
	failed callRing
}

// callRing is a ring buffer of the last calls. The parameter of next is its capacity.
type callRing struct {
	calls  []kept
	oldest int // index of the next entry to overwrite when full
}

// next returns the entry for the next call.
func (r *callRing) next(most int) *kept {
	if len(r.calls) < most {
		r.calls = append(r.calls, kept{})
		return &r.calls[len(r.calls)-1]
	}
	i := r.oldest
	if r.oldest++; r.oldest == most {
		r.oldest = 0
	}
	return &r.calls[i]
}

// Ended counts and stores a call.
func (s *ServerMetrics) Ended(e Ended) {
	s.Call(e.Method, e.Outcome, e.Took.Seconds())
	s.all.operations.callEnded(s.name, &s.near[bounded(e.Method)], &e)
	s.countItem(&e)
	if e.Route != nil && e.Route.Node != "" {
		s.all.cluster.Hops.Add(1)
	}
	if s.all.observer != nil {
		s.all.observer.CallEnded(s.name, e)
	}
	s.finished.add(&s.all.ended, &e)
	usage := e.Usage
	if usage == nil {
		usage = &s.all.local
	}
	usage.Ended(e.Began.Add(e.Took), e.Outcome != OutcomeOK)
}

// Refused stores a request that the gateway refused before it chose a server. It is counted elsewhere.
func (m *Metrics) Refused(e Ended) { m.refused.add(&m.ended, &e) }

// add stores a call under the next number.
func (f *finished) add(last *atomic.Uint64, e *Ended) {
	f.mu.Lock()
	call := f.newest.next(maxFinished)
	call.set(last.Add(1), e) // while mu is held, so that Finished misses no call
	if e.Outcome != OutcomeOK {
		*f.failed.next(maxFailed) = *call
	}
	f.mu.Unlock()
}

func (k *kept) set(number uint64, e *Ended) {
	k.number = number
	k.session, k.client, k.who, k.version = e.Session, e.Client, e.Who, e.Version
	k.holder, k.seq = e.Holder, e.Seq
	k.item, k.public = cutItem(e.Item), cutItem(e.Public)
	k.route, k.failure = e.Route, e.Failure
	k.began, k.took = e.Began, e.Took
	k.taken, k.written, k.asked, k.answered = e.Taken, MomentOf(e.Began, e.Sent), e.Asked, e.Answered
	k.in, k.out, k.method, k.outcome = e.In, e.Out, e.Method, e.Outcome
}

// cutItem truncates a name or URI.
func cutItem(s string) string {
	if len(s) <= maxFinishedItem {
		return s
	}
	return Cut(s, maxFinishedItem)
}

// call returns the call as it is shown.
func (k *kept) call(server string) FinishedCall {
	f := FinishedCall{
		Number: k.number, Session: k.session, Client: k.client, Server: server, Method: k.method.String(), Item: k.item, Public: k.public,
		Outcome: k.outcome.String(), Began: k.began, Seconds: k.took.Seconds(), Who: k.who, Version: k.version, In: k.in, Out: k.out,
		Taken: k.taken.In(k.began), Written: k.written.In(k.began), Asked: k.asked.In(k.began), Answered: k.answered.In(k.began),
	}
	if k.seq != 0 {
		f.ID = k.holder + "/" + strconv.FormatUint(k.seq, 10)
	}
	if k.route != nil {
		f.Backend, f.Peer = k.route.Backend, k.route.Protocol
	}
	if k.failure != nil {
		f.Code, f.Error = k.failure.Code, k.failure.Text
	}
	return f
}

// Finished returns the stored calls of a server with a number above after, ordered by number. If server is "", it returns
// those of all servers, and the requests that the gateway refused before it chose a server.
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
		out = s.finished.after(s.name, after, out)
	}
	if server == "" {
		out = m.refused.after("", after, out)
	}
	out = slices.DeleteFunc(out, func(f FinishedCall) bool { return f.Number > last }) // calls with lower numbers may have been missed
	slices.SortFunc(out, func(a, b FinishedCall) int { return cmp.Compare(a.Number, b.Number) })
	return slices.CompactFunc(out, func(a, b FinishedCall) bool { return a.Number == b.Number }) // a failed call may be in both rings
}

func (f *finished) after(server string, after uint64, out []FinishedCall) []FinishedCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ring := range []*callRing{&f.newest, &f.failed} {
		for i := range ring.calls {
			if c := &ring.calls[i]; c.number > after {
				out = append(out, c.call(server))
			}
		}
	}
	return out
}
