package actors

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// A gateway that is to stop lets the calls of modern clients end, as those of others: up to shutdown.drain, and not longer
// than somebody waits. What comes meanwhile is refused.
func TestDrainOfModernCalls(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`
	tests := []struct {
		name    string
		server  func(*pipe.Peer, protocol.Frame, []byte)
		after   time.Duration // the server answers
		stopped time.Duration
		want    string // what the client gets while it drains
	}{
		{"answered in time", nil, 2 * time.Second, 2 * time.Second, `"content":[]`},
		{"too late", nil, 20 * time.Second, 10 * time.Second, "SHUTTING_DOWN"},
		{"parked", asking(question).Handle, 20 * time.Second, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, within(func(t *testing.T) {
			var answer func()
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
				answer = func() { _ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`))) }
				if test.server != nil {
					test.server(p, f, id)
				}
			}}
			h := open(t, map[string]*actortest.Server{"one": server}, nil)
			h.ready()
			h.send(modernCall(3, allCapabilities, ""))
			time.Sleep(time.Second)
			h.got()
			began, stopped := time.Now(), time.Duration(0)
			var err error
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				err = h.gateway.Stop(ctx, 10*time.Second)
				stopped = time.Since(began)
			}()
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if test.stopped > 0 {
				if got := h.one(modernCall(4, allCapabilities, "")); !strings.Contains(got, "SHUTTING_DOWN") {
					t.Errorf("a call that came while it drained: %s", got)
				}
			}
			time.Sleep(test.after)
			answer()
			time.Sleep(time.Second)
			got := fmt.Sprint(h.got())
			if !strings.Contains(got, test.want) || test.want == "" && got != "[]" || err != nil {
				t.Errorf("the client got %s, want %q; stop: %v", got, test.want, err)
			}
			if stopped < test.stopped || stopped > test.stopped+100*time.Millisecond {
				t.Errorf("stopped after %v, want %v", stopped, test.stopped)
			}
			h.in.Close()
			<-h.done
		}))
	}
}

// A desk that has failed keeps nobody waiting who wants the gateway to stop: neither one that was restarted, nor one that
// was given up before.
func TestDrainOfDesksThatFail(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	gone, restarted := actortest.NewProbe(system, "gone").Reference, actortest.NewProbe(system, "restarted").Reference
	for _, desk := range []kernel.Reference{gone, restarted} {
		step(s, time.Time{}, statelessStarted{desk}, nil)
	}
	step(s, time.Time{}, kernel.ChildStopped{Child: gone}, nil)
	if out := step(s, time.Time{}, message.DrainAll{Done: make(chan struct{})}, nil); len(out) != 1 || out[0].To != restarted {
		t.Errorf("to drain: %v", out)
	}
	out := step(s, time.Time{}, message.Drained{From: restarted}, nil) // as it says when it starts
	if len(out) != 1 || out[0].Act == nil {
		t.Errorf("drained: %v", out)
	}
}
