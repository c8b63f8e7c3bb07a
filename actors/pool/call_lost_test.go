package pool

import (
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// breakCall reports that the connection of a call broke after the call may have been written.
func (w *world) breakCall(seq uint64, at int) {
	delete(w.sent, seq)
	w.step(message.ConnectionLost{Backend: w.backends[at], Call: message.CallRef{Seq: seq}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"},
		Fault: &protocol.Fault{Name: protocol.BackendDisconnected}, Reached: 7})
}

// A call whose connection broke is sent again only if retry.inFlight permits it, and only once. Otherwise it fails with the
// fault of the attempt that may have been executed.
func TestCallAfterItsConnectionBroke(t *testing.T) {
	for name, c := range map[string]struct {
		inFlight string
		replicas int
		lose     []int               // replicas that are lost before the call breaks
		twice    bool                // its second connection breaks, too
		want     protocol.FaultName  // "" = the call runs
		at       func(first int) int // where it runs
	}{
		"off":                     {"never", 2, nil, false, protocol.BackendDisconnected, nil},
		"default":                 {"", 2, nil, false, protocol.BackendDisconnected, nil},
		"another replica":         {"idempotent", 2, nil, false, "", func(first int) int { return 1 - first }},
		"only the answer broke":   {"idempotent", 1, nil, false, "", func(int) int { return 0 }},
		"nothing else is ready":   {"idempotent", 1, []int{0}, false, protocol.BackendDisconnected, nil},
		"it breaks a second time": {"idempotent", 2, nil, true, protocol.BackendDisconnected, nil},
	} {
		w := readyReplicas(t, config.Server{Retry: config.Retry{InFlight: c.inFlight}}, c.replicas)
		for first := -1; first != 0; { // the first replica gets the call
			w.dispatch(1)
			if first = w.at(1); first != 0 {
				w.end(1)
			}
		}
		first := w.at(1)
		for _, i := range c.lose {
			w.lost(i, time.Hour, "closed")
		}
		w.breakCall(1, first)
		if c.twice {
			w.breakCall(1, w.at(1))
		}
		if c.want != "" {
			w.fault(1, c.want)
			if len(w.sent) != 0 {
				t.Errorf("%s: the call runs, too", name)
			}
			continue
		}
		if w.failed[1] != nil || w.at(1) != c.at(first) {
			t.Errorf("%s: at %d after %d, failed %v", name, w.at(1), first, w.failed[1])
		}
	}
}

// A call whose only connection broke waits for the next one, and continues with the progress that its client has seen.
func TestBrokenCallWaitsForTheNextConnection(t *testing.T) {
	w := newWorld(t, config.Server{Queue: wide, Retry: config.Retry{InFlight: "idempotent"}}, 1)
	w.phase(0, message.Ready)
	w.dispatch(1)
	w.phase(0, message.Connecting)
	w.breakCall(1, 0)
	if len(w.sent)+len(w.failed) != 0 || w.s.calls.queue.len() != 1 {
		t.Fatalf("%d sent, %d failed, %d queued; want the call to wait", len(w.sent), len(w.failed), w.s.calls.queue.len())
	}
	sends, _ := told[message.Send, spawn](w, message.BackendChanged{Backend: w.backends[0], Phase: message.Ready, Info: &message.ServerInfo{}})
	if len(sends) != 1 || sends[0].Reached != 7 {
		t.Errorf("sent %+v, want the call with its progress", sends)
	}
	w.after(wide.Timeout)
	w.step(w.expire[0])
	if len(w.failed) != 0 {
		t.Error("a call that runs failed with the timeout of the queue")
	}
}

// A lost call that the pool does not know is answered. A loss that another backend reports is ignored. A canceled call
// is neither sent again nor answered.
func TestLossOfUnknownCalls(t *testing.T) {
	w := readyReplicas(t, config.Server{Retry: config.Retry{InFlight: "idempotent"}}, 2)
	w.breakCall(9, 0) // sent before the pool restarted
	w.fault(9, protocol.BackendDisconnected)
	w.dispatch(1)
	at := w.at(1)
	w.step(message.ConnectionLost{Backend: w.backends[1-at], Call: message.CallRef{Seq: 1}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}, Fault: &protocol.Fault{Name: protocol.BackendDisconnected}})
	if w.at(1) != at || w.failed[1] != nil || len(w.s.calls.running) != 1 {
		t.Error("the loss of another connection affected the call")
	}
	w.step(message.Cancel{Call: message.CallRef{Seq: 1}})
	w.breakCall(1, at)
	if len(w.sent) != 0 || w.failed[1] != nil || len(w.s.calls.running) != 0 {
		t.Error("a call that was canceled before was sent again or answered")
	}
}

// A read is sent to the connection that mentioned the resource. If that connection breaks, the read is sent to another one.
func TestBrokenReadIsSentElsewhere(t *testing.T) {
	w := readyReplicas(t, config.Server{Command: "x", Retry: config.Retry{InFlight: "idempotent"}}, 2)
	w.step(message.ResourcesMentioned{Backend: w.backends[1], URIs: []string{"a:made"}})
	w.read(1, "a:made", message.CanAll)
	r := &message.Request{Server: "fake", Item: "a:made", Unlisted: true, Caller: &message.Caller{Can: message.CanAll}}
	r.Frame.Method = protocol.MethodResourcesRead
	delete(w.sent, 1)
	w.step(message.ConnectionLost{Backend: w.backends[1], Call: message.CallRef{Seq: 1}, Request: r, Fault: &protocol.Fault{}})
	if w.at(1) != 0 {
		t.Errorf("at %d, failed %v; want the other replica", w.at(1), w.failed[1])
	}
}

// The calls of a connection that has stopped fail, and those of other connections continue.
func TestCallsOfAStoppedBackend(t *testing.T) {
	w := readyReplicas(t, config.Server{}, 2)
	w.dispatch(1)
	w.dispatch(2)
	stopped := w.sent[1]
	w.step(kernel.ChildStopped{Child: stopped})
	if f := w.fault(1, protocol.BackendDisconnected); f.Retryable {
		t.Error("a call that may have been executed is retryable")
	}
	if w.failed[2] != nil || len(w.s.calls.running) != 1 {
		t.Errorf("the call of the other connection failed: %v", w.failed[2])
	}
}
