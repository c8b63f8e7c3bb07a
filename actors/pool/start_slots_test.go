package pool

import (
	"fmt"
	"slices"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// starting records the pool's messages about starts to the gateway and to its backends.
type starting struct {
	*world
	said []string
}

func newStarting(t *testing.T, server config.Server, replicas int) *starting {
	return &starting{world: newWorld(t, server, replicas)}
}

func (w *starting) do(msg any) {
	for _, e := range step(w.s, w.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.RequestStartSlot:
			w.said = append(w.said, fmt.Sprintf("request %d wanted=%v lost=%v retries=%v", m.Number, m.Wanted, m.Lost, m.Retries))
		case message.ReleaseStartSlot:
			w.said = append(w.said, fmt.Sprintf("release %d", m.Number))
		case message.Connect:
			w.said = append(w.said, fmt.Sprintf("connect %d", slices.Index(w.backends, e.To)+1))
		}
	}
}

func (w *starting) want(said ...string) {
	w.t.Helper()
	if !slices.Equal(w.said, said) {
		w.t.Errorf("messages\n%q, want\n%q", w.said, said)
	}
	w.said = nil
}

func (w *starting) is(i int, p message.Phase) {
	w.do(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: p, Info: &message.ServerInfo{}, NextAttempt: w.now})
}

// A process starts when it gets a slot, which is released when it is ready or has failed. A waiting call raises the priority
// of the request.
func TestProcessNeedsAStartSlot(t *testing.T) {
	w := newStarting(t, config.Server{Queue: queue}, 1)
	w.do(message.RequestConnect{Backend: w.backends[0]})
	w.want("request 1 wanted=false lost=false retries=false")
	w.do(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}})
	w.do(message.Dispatch{Call: message.CallRef{Seq: 2}, Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}})
	w.want("request 1 wanted=true lost=false retries=false")
	w.do(message.StartSlotGranted{Number: 1})
	w.want("connect 1")
	for _, p := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		w.is(0, p)
	}
	w.want()
	w.is(0, message.Ready)
	w.want("release 1")
	w.is(0, message.Waiting)
	w.do(message.RequestConnect{Backend: w.backends[0]})
	w.want("request 1 wanted=false lost=true retries=true")
	w.do(message.StartSlotGranted{Number: 1})
	w.is(0, message.Connecting)
	w.is(0, message.Waiting)
	w.want("connect 1", "release 1")
	w.do(message.RequestConnect{Backend: w.backends[0]})
	w.want("request 1 wanted=false lost=false retries=true")
}

// A slot, or the request for one, is released when the backend restarts, drains or stops. A slot that is granted after that
// is released, too.
func TestStartSlotsEndWithTheBackend(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *starting)
	}{
		{"restarts", func(w *starting) {
			w.do(message.BackendChanged{Backend: w.backends[0], Phase: message.Idle, Restarted: true})
		}},
		{"drains", func(w *starting) { w.is(0, message.Draining) }},
		{"stops", func(w *starting) { w.do(kernel.ChildStopped{Child: w.backends[0]}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newStarting(t, config.Server{}, 1)
			w.do(message.RequestConnect{Backend: w.backends[0]})
			w.said = nil
			c.end(w)
			w.want("release 1")
			w.do(message.StartSlotGranted{Number: 1})
			w.want("release 1")
			w = newStarting(t, config.Server{}, 1)
			w.do(message.RequestConnect{Backend: w.backends[0]})
			w.do(message.StartSlotGranted{Number: 1})
			w.is(0, message.Handshaking)
			w.said = nil
			c.end(w)
			w.want("release 1")
		})
	}
}

// Connecting to a URL needs no start slot.
func TestURLNeedsNoStartSlot(t *testing.T) {
	w := newStarting(t, config.Server{URLs: []string{"http://one", "http://two"}}, 2)
	w.do(message.RequestConnect{Backend: w.backends[1]})
	w.is(1, message.Connecting)
	w.is(1, message.Ready)
	w.want("connect 2")
}
