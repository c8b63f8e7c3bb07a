package kernel

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// described is a message of 100 bytes about a call of its receiver, or about none.
type described struct{ number uint64 }

func (a described) Describe() (CallID, int) { return CallID{Number: a.number}, 100 }

// started is a message that makes holder send a described message for each call to another actor.
type started struct{ calls []uint64 }

// looked is a message that only observes.
type looked struct{}

func (looked) Observation() {}

// holder is a Logic with a phase. When it handles a started message, it sends a described message for each call in it.
type holder struct {
	to    Reference
	phase string
}

func (h *holder) Phase() string { return h.phase }

func (h *holder) Step(_ time.Time, msg any, out []Effect) []Effect {
	switch m := msg.(type) {
	case started:
		for _, number := range m.calls {
			out = append(out, Tell(h.to, described{number}))
		}
	case string:
		if h.phase = m; m == "panic" {
			panic(m)
		}
	}
	return out
}

func (*holder) Act(Self, any) {}

func shownMessages(r *Recorder) string {
	list, total := r.Messages()
	var all []string
	for _, m := range list {
		all = append(all, fmt.Sprintf("%s %s %s/%d %dB %d %s", strings.TrimPrefix(m.Type, "kernel."), m.Class, m.Holder, m.Number, m.Bytes, m.Depth, m.Phase))
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(all, ", "))
}

// A Recorder keeps which call a message was about, or the call that it caused if it caused only one, and the actor's phase
// after it. If the handler panicked, the phase is "panicked".
func TestRecorder(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		b := Spawn(s, SpawnOptions{Name: "b"}, func(Self) Logic { return &holder{} })
		a := Spawn(s, SpawnOptions{Name: "a", Restarts: 1, Within: time.Minute}, func(Self) Logic { return &holder{to: b, phase: "idle"} })
		synctest.Wait()
		a.Tell("before")
		synctest.Wait()
		until := time.Now().Add(time.Minute)
		r, other := s.Record("a", until), s.Record("b", until)
		if s.Record("absent", until) != nil {
			t.Error("an actor that does not exist is recorded")
		}
		for _, msg := range []any{"ready", looked{}, described{7}, described{}, started{[]uint64{5}}, started{[]uint64{5, 6}}, "panic"} {
			a.TellInline(msg)
			synctest.Wait()
		}
		want := "7: string work /0 0B 1 ready, described work a/7 100B 1 ready, described work /0 100B 1 ready, started work b/5 0B 1 ready, started work /0 0B 1 ready, string work /0 0B 1 panicked, " +
			"Stopping work /0 0B 1 panic"
		if got, _, _ := strings.Cut(shownMessages(r), ", Started"); "7"+strings.TrimPrefix(got, "8") != want {
			t.Errorf("recorded %s\nwant     %s", got, want)
		}
		if got := shownMessages(other); got != "3: described work b/5 100B 1 , described work b/5 100B 2 , described work b/6 100B 1 " {
			t.Errorf("handled on behalf of a: %s", got)
		}
		if infos := s.Actors(); !infos[0].Recorded.Equal(until) {
			t.Errorf("info: %+v", infos[0])
		}
		later := until.Add(time.Minute)
		if s.Record("a", later) != r || !r.Until().Equal(later) {
			t.Error("a second recording of an actor does not continue the first")
		}
		r.Stop()
		before := shownMessages(r)
		a.Tell("after")
		synctest.Wait()
		if got := shownMessages(r); got != before || !s.Actors()[0].Recorded.IsZero() {
			t.Errorf("recorded after the end: %s", got)
		}
		if again := s.Record("a", later); again == r || again == nil {
			t.Error("a stopped Recorder is used again")
		}
	})
}

// passed is a message about a call of another actor.
type passed struct{ holder Reference }

func (p passed) Describe() (CallID, int) { return CallID{Holder: p.holder, Number: 1}, 0 }

// A Recorder reports each other actor of the calls once, unless it is recorded already, and at most maxMet.
func TestRecorderReportsActors(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		spawn := func(name string, to Reference) Reference {
			return Spawn(s, SpawnOptions{Name: name}, func(Self) Logic { return &holder{to: to} })
		}
		b, c, d := spawn("b", Reference{}), spawn("c", Reference{}), spawn("d", Reference{})
		a := spawn("a", b)
		synctest.Wait()
		until := time.Now().Add(time.Minute)
		r := s.Record("a", until)
		s.Record("d", until)
		var met []string
		for range 2 {
			for _, msg := range []any{"text", described{7}, started{[]uint64{1, 2}}, passed{c}, passed{d}, passed{a}, passed{}} {
				a.TellInline(msg)
				synctest.Wait()
			}
			if met == nil {
				r.Report(func(actor string) { met = append(met, actor) })
			}
		}
		if got := strings.Join(met, " "); got != "b c" {
			t.Errorf("met %s", got)
		}
		for n := range 2 * maxMet {
			a.TellInline(passed{spawn(fmt.Sprint("e", n), Reference{})})
			synctest.Wait()
		}
		if len(met) != maxMet {
			t.Errorf("met %d actors", len(met))
		}
		r.Report(nil)
		a.TellInline(passed{spawn("f", Reference{})})
		synctest.Wait()
		if len(met) != maxMet {
			t.Error("met an actor although nothing is reported")
		}
	})
}

// A Recorder keeps the last 256 messages, in at most 64 bytes each.
func TestRecorderIsBounded(t *testing.T) {
	if size := unsafe.Sizeof(recorded{}); size > 64 {
		t.Errorf("a recorded message has %d bytes", size)
	}
	bubble(t, func(t *testing.T, s *System) {
		a := Spawn(s, SpawnOptions{Name: "a"}, func(Self) Logic { return &holder{} })
		r := s.Record("a", time.Now().Add(time.Minute))
		for n := range uint64(1000) {
			a.Tell(described{n + 1})
			synctest.Wait()
		}
		list, total := r.Messages()
		if len(list) != recorderSize || total < 1000 || list[0].Number != 1000-recorderSize+1 || list[recorderSize-1].Number != 1000 {
			t.Errorf("%d messages of %d, from %d", len(list), total, list[0].Number)
		}
		for i := 1; i < len(list); i++ {
			if list[i].Order <= list[i-1].Order {
				t.Fatalf("order %d after %d", list[i].Order, list[i-1].Order)
			}
		}
		for i := range 1000 {
			a.Tell(fmt.Sprint("phase", i))
		}
		synctest.Wait()
		if len(r.phases) > 255 {
			t.Errorf("%d phases", len(r.phases))
		}
	})
}

// BenchmarkRecorder measures a message to an idle actor that is recorded or not.
func BenchmarkRecorder(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			s := benchSystem(b)
			a := Spawn(s, SpawnOptions{Name: "a"}, func(Self) Logic { return &holder{phase: "ready"} })
			a.Tell("ready")
			for s.Actors()[0].Handled == 0 { // until it has started, it handles nothing inline
				runtime.Gosched()
			}
			var r *Recorder
			if on {
				r = s.Record("a", time.Now().Add(time.Minute))
			}
			var msg any = described{7}
			b.ReportAllocs()
			for b.Loop() {
				a.TellInline(msg)
			}
			if info := s.Actors()[0]; info.Refused > 0 {
				b.Fatalf("%d messages were refused", info.Refused)
			}
			if on {
				if _, total := r.Messages(); total < uint64(b.N) {
					b.Fatalf("%d of %d messages were recorded", total, b.N)
				}
			}
		})
	}
}

// BenchmarkRecorderOff measures the check that each message costs an actor that is not recorded: one atomic load.
func BenchmarkRecorderOff(b *testing.B) {
	var c cell
	n := 0
	for b.Loop() {
		if c.recorder.Load() != nil {
			n++
		}
	}
	if n > 0 {
		b.Fatal(n)
	}
}

// BenchmarkRecord measures the recording of a message.
func BenchmarkRecord(b *testing.B) {
	s := benchSystem(b)
	a := Spawn(s, SpawnOptions{Name: "a"}, func(Self) Logic { return &holder{phase: "ready"} })
	r, now := s.Record("a", time.Now().Add(time.Minute)), time.Now()
	var msg any = described{7}
	var logic Logic = &holder{phase: "ready"}
	b.ReportAllocs()
	for b.Loop() {
		r.record(a.cell, now, msg, nil, phaseOf(logic))
	}
}
