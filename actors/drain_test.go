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

// While the gateway drains, running calls of modern clients can complete, as those of legacy clients can: up to
// shutdown.drain, and only as long as a client waits. New calls are refused.
func TestDrainOfModernCalls(t *testing.T) {
	const elicitation = `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object"}}}`
	tests := []struct {
		name    string
		server  func(*pipe.Peer, protocol.Frame, []byte)
		after   time.Duration // when the server answers
		stopped time.Duration
		want    string // what the client gets during the drain
	}{
		{"answered in time", nil, 2 * time.Second, 2 * time.Second, `"content":[]`},
		{"too late", nil, 20 * time.Second, 10 * time.Second, "SHUTTING_DOWN"},
		{"parked", serverSending(elicitation).Handle, 20 * time.Second, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, inBubble(func(t *testing.T) {
			var answer func()
			server := &actortest.Server{Tools: []string{"ask"}, Handle: func(p *pipe.Peer, f protocol.Frame, id []byte) {
				answer = func() { _ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`))) }
				if test.server != nil {
					test.server(p, f, id)
				}
			}}
			h := startStdio(t, map[string]*actortest.Server{"one": server}, nil)
			h.waitReady()
			h.send(modernCall(3, allCapabilities, ""))
			time.Sleep(time.Second)
			h.received()
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
				if got := h.roundTrip(modernCall(4, allCapabilities, "")); !strings.Contains(got, "SHUTTING_DOWN") {
					t.Errorf("a call during the drain: %s", got)
				}
			}
			time.Sleep(test.after)
			answer()
			time.Sleep(time.Second)
			got := fmt.Sprint(h.received())
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

// A failed stateless session does not delay the drain, whether it was restarted or has failed permanently before.
func TestDrainWithFailedStatelessSessions(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	gone, restarted := actortest.NewProbe(system, "gone").Reference, actortest.NewProbe(system, "restarted").Reference
	for _, ref := range []kernel.Reference{gone, restarted} {
		step(s, time.Time{}, statelessStarted{ref}, nil)
	}
	step(s, time.Time{}, kernel.ChildStopped{Child: gone}, nil)
	if out := step(s, time.Time{}, message.DrainAll{Done: make(chan struct{})}, nil); len(out) != 1 || out[0].To != restarted {
		t.Errorf("drain requests: %v", out)
	}
	out := step(s, time.Time{}, message.Drained{From: restarted}, nil) // a restarted stateless session reports this when it starts
	if len(out) != 1 || out[0].Act == nil {
		t.Errorf("after Drained: %v", out)
	}
}

// Every caller of a drain waits until the running calls have ended, also one that joins a drain in progress. A drained gateway
// answers at once.
func TestDrainTwice(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	cfg := config.Default()
	s := newState(&cfg, kernel.Reference{})
	serving := actortest.NewProbe(system, "serving").Reference
	step(s, time.Time{}, statelessStarted{serving}, nil)
	closed := func(msg any) (n int) {
		for _, e := range step(s, time.Time{}, msg, nil) {
			if _, is := e.Act.(closeDone); is {
				n++
			}
		}
		return n
	}
	for i, c := range []struct {
		msg  any
		want int
	}{
		{message.DrainAll{Done: make(chan struct{})}, 0},
		{message.DrainAll{Done: make(chan struct{})}, 0},
		{message.Drained{From: serving}, 2},
		{message.Drained{From: serving}, 0},
		{message.DrainAll{Done: make(chan struct{})}, 1},
	} {
		if got := closed(c.msg); got != c.want {
			t.Errorf("message %d, %T: %d channels closed, want %d", i, c.msg, got, c.want)
		}
	}
}
