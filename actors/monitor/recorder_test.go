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

// still is a Logic that does nothing.
type still struct{}

func (still) Step(time.Time, any, []kernel.Effect) []kernel.Effect { return nil }
func (still) Act(kernel.Self, any)                                 {}

// recorderWorld is a system with a recorder and actors named a0, a1 and so on.
type recorderWorld struct {
	t        *testing.T
	system   *kernel.System
	recorder kernel.Reference
	ended    []string
}

func withRecorder(t *testing.T, actors int, f func(w *recorderWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w := &recorderWorld{t: t, system: kernel.New(kernel.Options{})}
		w.recorder = SpawnRecorder(w.system, func(e RecordingEnded) {
			w.ended = append(w.ended, fmt.Sprintf("%s%s %d", e.Server, e.Actor, e.Actors))
		})
		for n := range actors {
			kernel.Spawn(w.system, kernel.SpawnOptions{Name: fmt.Sprintf("a%d", n)}, func(kernel.Self) kernel.Logic { return still{} })
		}
		synctest.Wait()
		f(w)
		if err := w.system.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// record records some actors, and returns the error.
func (w *recorderWorld) record(d time.Duration, names ...string) error {
	reply := make(chan error, 1)
	w.recorder.Tell(message.StartRecording{Actors: names, For: d, Actor: strings.Join(names, "+"), Reply: reply})
	return <-reply
}

// want checks which actors' messages are recorded, and which recordings can be read.
func (w *recorderWorld) want(when, recorded, kept string) {
	w.t.Helper()
	synctest.Wait()
	var names, readable []string
	for _, i := range w.system.Actors() {
		if !i.Recorded.IsZero() {
			names = append(names, i.Name)
		}
	}
	reply := make(chan []message.Recording, 1)
	w.recorder.Tell(message.GetRecordings{Reply: reply})
	for _, r := range <-reply {
		readable = append(readable, r.Actor)
	}
	if got := strings.Join(names, " "); got != recorded {
		w.t.Errorf("%s: %q are recorded, want %q", when, got, recorded)
	}
	if got := strings.Join(readable, " "); got != kept {
		w.t.Errorf("%s: the recordings of %q can be read, want %q", when, got, kept)
	}
}

// A recording ends at its time, even if nothing reads it, and can be read for ten minutes more. A later recording of the same
// actor replaces it; the timer of the first does not end the second.
func TestRecordingsEnd(t *testing.T) {
	withRecorder(t, 3, func(w *recorderWorld) {
		if err := w.record(time.Minute, "a0", "a1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if err := w.record(time.Minute, "a1", "a2"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30*time.Second - 1)
		w.want("before the end of the first", "a0 a1 a2", "a0 a1 a2")
		time.Sleep(time.Nanosecond)
		w.want("after the first", "a1 a2", "a0 a1 a2")
		time.Sleep(30*time.Second - 1)
		w.want("before the end of the second", "a1 a2", "a0 a1 a2")
		time.Sleep(time.Nanosecond)
		w.want("after both", "", "a0 a1 a2")
		time.Sleep(keepRecording - 30*time.Second)
		w.want("when the first is no longer kept", "", "a1 a2")
		time.Sleep(time.Hour)
		w.want("an hour later", "", "")
		if got := strings.Join(w.ended, ", "); got != "a0+a1 1, a1+a2 2" {
			t.Errorf("ended: %s", got)
		}
	})
}

// At most 64 actors are recorded, and no more recordings are kept.
func TestRecordingsAreLimited(t *testing.T) {
	withRecorder(t, 100, func(w *recorderWorld) {
		name := func(from, to int) (names []string) {
			for n := range to - from {
				names = append(names, fmt.Sprintf("a%d", from+n))
			}
			return names
		}
		if err := w.record(time.Minute, name(0, 60)...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		err := w.record(time.Minute, name(60, 65)...)
		if err == nil || err.Error() != "60 of at most 64 actors are being recorded already; the first of these recordings ends in 40s" {
			t.Errorf("with five more: %v", err)
		}
		if err := w.record(time.Minute, name(0, 64)...); err != nil {
			t.Errorf("with four more: %v", err)
		}
		if err := w.record(time.Minute, "absent"); err == nil || errors.Is(err, status.ErrNotThere) {
			t.Errorf("one more than possible: %v", err)
		}
		time.Sleep(time.Minute + 1)
		if err := w.record(time.Minute, "absent"); !errors.Is(err, status.ErrNotThere) {
			t.Errorf("an actor that does not exist: %v", err)
		}
		if err := w.record(time.Minute, name(64, 100)...); err != nil {
			t.Fatal(err)
		}
		reply := make(chan []message.Recording, 1)
		w.recorder.Tell(message.GetRecordings{Reply: reply})
		if all := <-reply; len(all) != 36 {
			t.Errorf("%d recordings are kept", len(all))
		}
	})
}

// about is a message about a call that another actor holds.
type about struct{ holder kernel.Reference }

func (a about) Describe() (kernel.CallID, int) { return kernel.CallID{Holder: a.holder, Number: 1}, 0 }

// An actor that takes part in a call of a recorded server's pool joins the server's recording and ends with it. It does not join
// the recording of a single actor, nor one that has ended, nor if 64 actors are already recorded.
func TestActorsJoinTheRecordingOfAServer(t *testing.T) {
	withRecorder(t, 80, func(w *recorderWorld) {
		reference := func(n int) kernel.Reference {
			r, _ := w.system.Lookup(fmt.Sprintf("a%d", n))
			return r
		}
		server := func(d time.Duration, names ...string) {
			reply := make(chan error, 1)
			w.recorder.Tell(message.StartRecording{Actors: names, For: d, Server: "files", Reply: reply})
			if err := <-reply; err != nil {
				t.Fatal(err)
			}
		}
		if err := w.record(time.Minute, "a0"); err != nil {
			t.Fatal(err)
		}
		reference(0).Tell(about{reference(1)})
		w.want("a call of an actor that is recorded alone", "a0", "a0")
		server(time.Minute, "a0", "a2")
		time.Sleep(30 * time.Second)
		for range 2 {
			for _, n := range []int{2, 3, 4} {
				reference(0).Tell(about{reference(n)})
			}
			synctest.Wait()
		}
		reference(3).Tell(about{reference(5)}) // not the server's pool, which is a0
		w.want("after calls", "a0 a2 a3 a4", "a0 a2 a3 a4")
		time.Sleep(30*time.Second - 1)
		w.want("before the end", "a0 a2 a3 a4", "a0 a2 a3 a4")
		time.Sleep(time.Nanosecond)
		w.want("after the end", "", "a0 a2 a3 a4")
		reference(0).Tell(about{reference(6)})
		w.want("a call after the end", "", "a0 a2 a3 a4")
		var names []string
		for n := range status.MaxRecorded - 1 {
			names = append(names, fmt.Sprintf("a%d", n))
		}
		server(time.Minute, names...)
		for n := range 80 {
			reference(0).Tell(about{reference(n)})
		}
		synctest.Wait()
		recorded := 0
		for _, i := range w.system.Actors() {
			if !i.Recorded.IsZero() {
				recorded++
			}
		}
		if recorded != status.MaxRecorded {
			t.Errorf("%d actors are recorded", recorded)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Join(w.ended, ", "); got != "files 4, files 64" {
			t.Errorf("ended: %s", got)
		}
	})
}

// When the recorder panics or stops, all recordings end.
func TestRecorderEndsItsRecordings(t *testing.T) {
	var world *recorderWorld
	withRecorder(t, 2, func(w *recorderWorld) {
		world = w
		if err := w.record(time.Minute, "a0"); err != nil {
			t.Fatal(err)
		}
		closed := make(chan []message.Recording)
		close(closed)
		w.recorder.Tell(message.GetRecordings{Reply: closed}) // panics
		w.want("after a panic", "", "")
		if err := w.record(time.Minute, "a1"); err != nil {
			t.Fatal(err)
		}
		w.want("after the restart", "a1", "a1")
	})
	if got := strings.Join(world.ended, ", "); got != "a0 1, a1 1" {
		t.Errorf("ended: %s", got)
	}
}
