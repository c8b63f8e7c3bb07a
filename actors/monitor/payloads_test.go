package monitor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// payloadWorld is a system with the actor that keeps payloads.
type payloadWorld struct {
	t      *testing.T
	gate   *message.PayloadGate
	keeper kernel.Reference
	ended  []string
}

func withPayloads(t *testing.T, permitted bool, f func(w *payloadWorld)) *payloadWorld {
	var w *payloadWorld
	synctest.Test(t, func(t *testing.T) {
		system := kernel.New(kernel.Options{})
		w = &payloadWorld{t: t, gate: &message.PayloadGate{}}
		w.keeper = SpawnPayloads(system, w.gate, permitted, func(k status.Keeping) { w.ended = append(w.ended, fmt.Sprintf("%s %d", k.Server, k.Calls)) })
		synctest.Wait()
		f(w)
		if err := system.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if w.gate.Keeping() != nil {
			t.Error("the gate is open after the end")
		}
	})
	return w
}

func (w *payloadWorld) keep(server string) error {
	reply := make(chan error, 1)
	w.keeper.Tell(message.KeepPayloads{Server: server, Reply: reply})
	return <-reply
}

func (w *payloadWorld) discard(server string) error {
	reply := make(chan error, 1)
	w.keeper.Tell(message.DiscardPayloads{Server: server, Reply: reply})
	return <-reply
}

// call begins a call, ends it if answer is not empty, and reports whether it is kept.
func (w *payloadWorld) call(server, name, answer string) bool {
	k := w.gate.Open(time.Now(), server)
	if k == nil {
		return false
	}
	w.keeper.Tell(message.PayloadBegan{Keeping: k, Payload: message.CallPayload{Call: name, Began: time.Now(), Request: message.RawPayloadOf([]byte(`{"n":1}`))}})
	if answer != "" {
		w.keeper.Tell(message.PayloadEnded{Keeping: k, Call: name, At: time.Now(), Answer: message.RawPayloadOf([]byte(answer))})
	}
	synctest.Wait()
	return true
}

// kept returns the servers and their calls, such as "a 2:7/9,3/3": of the request and then of the answer, the bytes
// that are stored and the bytes that it had.
func (w *payloadWorld) kept() string {
	synctest.Wait()
	reply := make(chan []message.KeptPayloads, 1)
	w.keeper.Tell(message.GetPayloads{Reply: reply})
	var list []string
	for _, k := range <-reply {
		line := k.Server
		for _, c := range k.Calls {
			line += fmt.Sprintf(" %s:%d/%d,%d/%d", c.Call, len(c.Request.Text), c.Request.Bytes, len(c.Answer.Text), c.Answer.Bytes)
		}
		list = append(list, line)
	}
	return strings.Join(list, "; ")
}

func (w *payloadWorld) want(when, want string) {
	w.t.Helper()
	if got := w.kept(); got != want {
		w.t.Errorf("%s: kept %q, want %q", when, got, want)
	}
}

// Payloads of a server are kept for ten minutes, and then none are left. If a call that began in that time ends later, its answer is
// ignored.
func TestPayloadsEnd(t *testing.T) {
	w := withPayloads(t, true, func(w *payloadWorld) {
		if w.call("a", "1", "x") {
			t.Error("a call is kept although no operator has asked for it")
		}
		if err := w.keep("a"); err != nil {
			t.Fatal(err)
		}
		if !w.call("a", "2", "xyz") || w.call("b", "3", "x") {
			t.Error("the wrong calls are kept")
		}
		late := w.gate.Open(time.Now(), "a")
		w.keeper.Tell(message.PayloadBegan{Keeping: late, Payload: message.CallPayload{Call: "4"}})
		w.want("at once", "a 2:7/7,3/3 4:0/0,0/0")
		time.Sleep(status.PayloadTime - 1)
		w.want("just before the end", "a 2:7/7,3/3 4:0/0,0/0")
		time.Sleep(time.Nanosecond)
		if w.call("a", "5", "x") {
			t.Error("a call is kept after the end")
		}
		w.want("at the end", "")
		w.keeper.Tell(message.PayloadEnded{Keeping: late, Call: "4", Answer: message.RawPayloadOf([]byte("secret"))})
		w.keeper.Tell(message.PayloadBegan{Keeping: late, Payload: message.CallPayload{Call: "6"}})
		w.want("after the end of a late call", "")
		time.Sleep(time.Hour)
		if err := w.keep("a"); err != nil {
			t.Error(err)
		}
		w.want("again", "a")
	})
	if got := strings.Join(w.ended, ", "); got != "a 2, a 0" {
		t.Errorf("ended: %s", got)
	}
}

// At most 50 calls of each server are kept, for at most 8 servers at a time, and at most 16 KiB of each request and answer.
func TestPayloadsAreLimited(t *testing.T) {
	w := withPayloads(t, true, func(w *payloadWorld) {
		large := strings.Repeat("x", status.MaxPayloadBytes+1)
		if err := w.keep("s0"); err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range 1000 {
			if w.call("s0", fmt.Sprint(i), large) {
				n++
			}
		}
		if n != status.MaxPayloads || !strings.HasPrefix(w.kept(), "s0 0:7/7,16384/16385 1:7/7") {
			t.Errorf("%d calls are kept: %.200s", n, w.kept())
		}
		time.Sleep(time.Minute)
		for i := range status.MaxKeepings - 1 {
			if err := w.keep(fmt.Sprintf("s%d", i+1)); err != nil {
				t.Error(err)
			}
		}
		err := w.keep("one more")
		if err == nil || err.Error() != `keep payloads of server "one more": the payloads of 8 servers are being kept already, which is the maximum; try again in 9m0s, when the first of them are discarded, or stop one of them` {
			t.Errorf("a ninth server: %v", err)
		}
		if got := fmt.Sprint(w.gate.Keeping()[0].Calls, len(w.gate.Keeping())); got != "50 8" {
			t.Errorf("shown: %s", got)
		}
	})
	if len(w.ended) != status.MaxKeepings {
		t.Errorf("ended: %q", w.ended)
	}
}

// A second operator learns that payloads are being kept already, and may stop that and begin again. The timer of the first
// start does not end the second.
func TestPayloadsAreKeptOnce(t *testing.T) {
	withPayloads(t, true, func(w *payloadWorld) {
		if err := w.discard("a"); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("stop without a start: %v", err)
		}
		if err := w.keep("a"); err != nil {
			t.Fatal(err)
		}
		w.call("a", "1", "")
		time.Sleep(time.Minute)
		if err := w.keep("a"); err == nil || err.Error() != `keep payloads of server "a": they are being kept already, 1 of 50 calls, for another 9m0s; to start over, stop it first` {
			t.Errorf("asked twice: %v", err)
		}
		if err := errors.Join(w.discard("a"), w.keep("a")); err != nil {
			t.Fatal(err)
		}
		w.want("anew", "a")
		time.Sleep(status.PayloadTime - 1)
		w.want("before the end of the second", "a")
		time.Sleep(time.Nanosecond)
		w.want("at the end of the second", "")
	})
}

// If the configuration forbids it, no payloads are kept. A reload that forbids it discards those that were kept.
func TestPayloadsMayBeForbidden(t *testing.T) {
	w := withPayloads(t, false, func(w *payloadWorld) {
		if err := w.keep("a"); !errors.Is(err, status.ErrForbidden) {
			t.Errorf("forbidden: %v", err)
		}
		w.keeper.Tell(message.PermitPayloads{Permitted: true})
		if err := errors.Join(w.keep("a"), w.keep("b")); err != nil {
			t.Error(err)
		}
		w.call("a", "1", "x")
		w.keeper.Tell(message.PermitPayloads{Permitted: false})
		w.want("after the reload", "")
		if w.call("a", "2", "x") || w.gate.Keeping() != nil {
			t.Error("the gate is open")
		}
	})
	if got := strings.Join(w.ended, ", "); got != "a 1, b 0" {
		t.Errorf("ended: %s", got)
	}
}

// A reload discards the payloads of removed servers, and all of them if secrets were removed.
func TestPayloadsEndWithReload(t *testing.T) {
	w := withPayloads(t, true, func(w *payloadWorld) {
		if err := errors.Join(w.keep("a"), w.keep("b"), w.keep("c")); err != nil {
			t.Fatal(err)
		}
		w.keeper.Tell(message.PermitPayloads{Permitted: true, Removed: []string{"x", "c", "a"}})
		w.want("after the removal", "b")
		w.keeper.Tell(message.PermitPayloads{Permitted: true, Rotated: true})
		w.want("after the rotation", "")
		if err := w.keep("a"); err != nil {
			t.Error(err)
		}
	})
	if got := strings.Join(w.ended, ", "); got != "a 0, c 0, b 0, a 0" {
		t.Errorf("ended: %s", got)
	}
}

// A restart of the actor ends what was kept. The newest permission stays in force.
func TestPayloadsAfterRestart(t *testing.T) {
	fail := make(chan error)
	close(fail)
	w := withPayloads(t, true, func(w *payloadWorld) {
		if err := w.keep("a"); err != nil {
			t.Fatal(err)
		}
		w.call("a", "1", "x")
		w.keeper.Tell(message.DiscardPayloads{Server: "none", Reply: fail}) // panics
		w.want("after the restart", "")
		if w.gate.Keeping() != nil || w.keep("b") != nil {
			t.Error("the gate is open, or nothing can be kept")
		}
		w.keeper.Tell(message.PermitPayloads{})
		w.keeper.Tell(message.DiscardPayloads{Server: "none", Reply: fail})
		if err := w.keep("a"); !errors.Is(err, status.ErrForbidden) {
			t.Errorf("forbidden before the restart: %v", err)
		}
	})
	if got := strings.Join(w.ended, ", "); got != "a 1, b 0" {
		t.Errorf("ended: %s", got)
	}
}
