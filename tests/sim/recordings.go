package sim

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// startRecordings records up to status.MaxRecorded actors, half of them for one minute and half for ten. For every third
// actor, a recording of half that time is started first; the second recording replaces it. The recorder's turns are not
// left to the seed, so stories are the same as without it.
func (w *world) startRecordings() {
	var names []string
	for _, m := range w.gateway.Mailboxes() {
		names = append(names, message.ShortName(m.Name))
	}
	slices.Sort(names)
	w.recorded = map[string]time.Time{}
	for i, name := range slices.Compact(names)[:min(len(names), status.MaxRecorded)] {
		seconds := []int{60, 600}[i%2]
		if i%3 == 0 {
			w.recordActor(name, seconds/2)
		}
		w.recordActor(name, seconds)
		w.recorded[name] = time.Now().Add(time.Duration(seconds) * time.Second)
	}
}

// recordActor starts the recording of an actor.
func (w *world) recordActor(name string, seconds int) {
	w.outside(func(ctx context.Context) {
		if err := w.gateway.Act(ctx, status.Action{Verb: status.Record, Actor: name, Seconds: seconds}); err != nil {
			w.violated("record %s: %v", name, err)
		}
	})
}

// outside calls do on a goroutine of its own, and runs the scheduler until do has returned.
func (w *world) outside(do func(ctx context.Context)) {
	done := false
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		do(ctx)
		done = true
		w.scheduler.wake()
	}()
	w.scheduler.run(time.Now().Add(2*time.Minute), func() bool { return done })
	synctest.Wait()
}

// checkRecordings checks that every recording ends at its time, neither earlier nor later. It may have messages of the
// second after that, because the recorder handles its timer when its turn comes.
func (w *world) checkRecordings(when string) {
	var all []status.Recording
	w.outside(func(ctx context.Context) { all, _ = w.gateway.Records(ctx, status.RecordQuery{}) })
	for _, r := range all {
		until, known := w.recorded[r.Actor]
		switch now := time.Now(); {
		case !known || !r.Until.Equal(until):
			w.violated("%s: the recording of %s ends at %v, want %v", when, r.Actor, r.Until, until)
		case r.Ended != !now.Before(until):
			w.violated("%s: the recording of %s until %v has ended: %v", when, r.Actor, until, r.Ended)
		}
		order := uint64(0)
		for _, m := range r.Messages {
			if m.Number <= order || m.At.After(r.Until.Add(time.Second)) || strings.Contains(m.Type, "Inspect") {
				w.violated("%s: the recording of %s until %v has message %d after %d: %+v", when, r.Actor, r.Until, m.Number, order, m)
				break
			}
			order = m.Number
			w.count("a recorded message")
		}
	}
	for name, until := range w.recorded {
		if time.Now().Before(until.Add(10*time.Minute)) && !slices.ContainsFunc(all, func(r status.Recording) bool { return r.Actor == name }) {
			w.violated("%s: the recording of %s is not kept", when, name)
		}
	}
	w.count("recordings compared")
}

// recordServer records the actors of the first server that runs for ten minutes, unless such a recording is running or too
// many actors are recorded.
func (w *world) recordServer() {
	if time.Now().Before(w.recorded[w.recordedPool]) {
		return
	}
	w.recordedPool = ""
	for _, m := range w.gateway.Mailboxes() {
		server, ok := strings.CutPrefix(m.Name, "gateway/pool/")
		if ok && !strings.Contains(server, "/") && (w.recordedPool == "" || m.Name < w.recordedPool) {
			w.recordedPool = m.Name
		}
	}
	if w.recordedPool == "" {
		return
	}
	w.outside(func(ctx context.Context) {
		server := strings.TrimPrefix(w.recordedPool, "gateway/pool/")
		if err := w.gateway.Act(ctx, status.Action{Verb: status.Record, Server: server, Seconds: 600}); err != nil {
			w.recordedPool = ""
		}
	})
	until := time.Now().Add(10 * time.Minute)
	w.recorded = map[string]time.Time{w.recordedPool: until}
	w.outside(func(ctx context.Context) {
		all, _ := w.gateway.Records(ctx, status.RecordQuery{})
		for _, r := range all {
			if !r.Ended && !r.Until.Equal(until) {
				w.recorded[r.Actor] = r.Until
			}
		}
	})
}

// checkJoined checks that each running actor which holds a call that the recorded server's pool has handled is recorded,
// also if its first call came during the recording, unless as many actors are recorded as possible. An actor that had a
// recording of its own may have none any more, because at most 64 are kept.
func (w *world) checkJoined(when string) {
	var all []status.Recording
	w.outside(func(ctx context.Context) { all, _ = w.gateway.Records(ctx, status.RecordQuery{}) })
	recorded, running, now := map[string]bool{}, map[string]bool{}, 0
	for _, r := range all {
		recorded[r.Actor] = true
		if !r.Ended {
			now++
		}
	}
	for _, m := range w.gateway.Mailboxes() {
		running[message.ShortName(m.Name)] = true
	}
	for _, r := range all {
		if r.Actor != w.recordedPool || now >= status.MaxRecorded {
			continue
		}
		for _, m := range r.Messages {
			holder := "gateway/" + path.Dir(m.Call)
			switch {
			case m.Call == "" || m.At.Before(r.Began) || !running[holder] || !w.recorded[holder].IsZero():
			case !recorded[holder]:
				w.violated("%s: %s holds the call %s of the recorded %s, but is not recorded", when, holder, m.Call, r.Actor)
			default:
				w.count("a recorded holder of a call")
			}
		}
	}
}
