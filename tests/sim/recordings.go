package sim

import (
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// startRecordings records every actor, half of them for a minute and half for ten. Every third is first recorded for a
// shorter time, which the second recording replaces. The recorder's turns are not left to the seed, so stories are the
// same as without it.
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

// outside runs do on a goroutine that is not an actor's, until it has returned.
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
