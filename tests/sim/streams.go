package sim

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"goblin-actor/actors"
	"goblin-actor/internal/status"
)

// watchPause is the time between two reports to a watcher. A console gets them more often, but a story lasts for hours.
const watchPause = 30 * time.Second

// watcher follows the gateway, as a console does, from the calm phase on. It knows only what the stream reports.
type watcher struct {
	local    status.Local
	faulty   bool // it is slow at times, and it loses its stream
	cancel   context.CancelFunc
	finished chan struct{}

	mu       sync.Mutex
	snapshot *status.Snapshot
	calls    map[uint64]status.FinishedCall // by number
	missed   uint64
	notices  int
	last     string // id of the last notice
}

// errStreamLost ends a watcher's stream.
type errStreamLost struct{ error }

// steady is a gateway whose status omits Process. These values differ from run to run, and a stream would report them.
type steady struct{ *actors.Gateway }

func (g steady) Status(ctx context.Context) (*status.Snapshot, error) {
	s, err := g.Gateway.Status(ctx)
	if s == nil {
		return nil, err
	}
	c := *s
	c.Process = nil
	return &c, err
}

// startWatchers starts two watchers, of which one is faulty. Only some stories are watched, because surveys take time.
func (w *world) startWatchers() {
	if !w.p.Watched {
		return
	}
	for _, n := range w.nodes {
		n.startWatchers()
	}
}

func (n *node) startWatchers() {
	local := status.Local{Gateway: steady{n.gateway}, Counters: n.gateway.Metrics(), Changes: n.gateway.Changes(), Streams: status.NewStreams("simulated")}
	n.watchers = nil
	for _, faulty := range []bool{false, true} {
		v := &watcher{local: local, faulty: faulty, calls: map[uint64]status.FinishedCall{}, finished: make(chan struct{})}
		var ctx context.Context
		ctx, v.cancel = context.WithCancel(context.Background())
		go v.follow(ctx)
		n.watchers = append(n.watchers, v)
	}
}

// stopWatchers ends all watchers.
func (w *world) stopWatchers() {
	for _, n := range w.nodes {
		for _, v := range n.watchers {
			v.cancel()
			<-v.finished
		}
		n.watchers = nil
	}
}

// follow opens streams until ctx ends.
func (v *watcher) follow(ctx context.Context) {
	defer close(v.finished)
	for ctx.Err() == nil {
		v.mu.Lock()
		o := status.FollowOptions{Every: watchPause, Last: v.last, Want: []status.Want{status.WantState, status.WantCalls, status.WantSessions, status.WantFinished}}
		v.mu.Unlock()
		_ = v.local.Follow(ctx, o, v.take)
	}
}

// take applies a notice. Snapshots and deltas are first encoded as JSON and decoded, as over a connection.
func (v *watcher) take(n status.Notice) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notices++
	v.last = n.ID
	switch {
	case n.Delta != nil:
		v.snapshot = overWire(n.Delta).Apply(v.snapshot)
	case n.Snapshot != nil:
		v.snapshot = overWire(n.Snapshot)
	}
	v.missed += n.Missed
	for _, f := range n.Finished {
		v.calls[f.Number] = f
	}
	if v.faulty && v.notices%5 == 0 {
		v.mu.Unlock()
		time.Sleep(15 * time.Second) // a snapshot replaces the deltas missed in this time
		v.mu.Lock()
	}
	if v.faulty && v.notices%7 == 0 {
		return errStreamLost{}
	}
	return nil
}

// overWire returns a copy of value that was encoded as JSON and decoded.
func overWire[T any](value *T) *T {
	raw, err := json.Marshal(value)
	arrived := new(T)
	if err == nil {
		err = json.Unmarshal(raw, arrived)
	}
	if err != nil {
		panic(err)
	}
	return arrived
}

// checkStreams checks that the snapshot and deltas of each watcher add up to the status, and that every finished call
// was reported. No call may be in progress.
func (w *world) checkStreams(when string) {
	for _, n := range w.nodes {
		n.checkStreams(when)
	}
}

func (n *node) checkStreams(when string) {
	for i, v := range n.watchers {
		var shown, told string
		for range 3 { // an actor that gets no turn in time is missing from one survey, but not from the next
			if n.w.failed() {
				return
			}
			n.w.advance(2 * watchPause)
			shown = comparable(n.status())
			synctest.Wait()
			v.mu.Lock()
			told = comparable(v.snapshot)
			v.mu.Unlock()
			if shown == told {
				break
			}
		}
		if shown != told {
			n.violated("%s: the stream of watcher %d differs from the status:\n%s\n%s", when, i, told, shown)
		}
		n.checkReported(when, v)
	}
}

// checkReported checks that a watcher received the gateway's finished calls, with all their fields.
func (n *node) checkReported(when string, v *watcher) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range n.gateway.Metrics().Finished("", 0) {
		if told, ok := v.calls[f.Number]; told != f && (ok || v.missed == 0) {
			n.violated("%s: the stream did not report the finished call %+v, but %+v", when, f, told)
		}
	}
	n.w.count("a stream that equals the status")
}

// comparable returns the text of a status without what differs between two surveys of a quiet gateway.
func comparable(s *status.Snapshot) string {
	if s == nil {
		return "nothing"
	}
	c := *s
	c.Now, c.Actors, c.Process = time.Time{}, nil, nil
	c.Servers = append([]status.Server(nil), s.Servers...)
	for i := range c.Servers {
		c.Servers[i].TimedOut = 0
	}
	c.Nodes = slices.Clone(s.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].LastBeat = time.Time{}
	}
	raw, err := json.Marshal(&c)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
