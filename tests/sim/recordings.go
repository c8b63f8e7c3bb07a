package sim

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// startRecordings records up to status.MaxRecorded actors, half of them for one minute and half for ten. For every third
// actor, a recording of half that time is started first; the second recording replaces it. The recorder's turns are not
// left to the seed, so stories are the same as without it.
func (w *world) startRecordings() {
	for _, n := range w.nodes {
		n.startRecordings()
	}
}

func (n *node) startRecordings() {
	var names []string
	for _, m := range n.gateway.Mailboxes() {
		names = append(names, message.ShortName(m.Name))
	}
	slices.Sort(names)
	n.recorded = map[string]time.Time{}
	for i, name := range slices.Compact(names)[:min(len(names), status.MaxRecorded)] {
		seconds := []int{60, 600}[i%2]
		if i%3 == 0 {
			n.recordActor(name, seconds/2)
		}
		n.recordActor(name, seconds)
		n.recorded[name] = time.Now().Add(time.Duration(seconds) * time.Second)
	}
}

// recordActor starts the recording of an actor.
func (n *node) recordActor(name string, seconds int) {
	n.w.outside(func(ctx context.Context) {
		if err := n.gateway.Act(ctx, status.Action{Verb: status.Record, Actor: name, Seconds: seconds}); err != nil {
			n.violated("record %s: %v", name, err)
		}
	})
}

// checkRecordings checks that every recording ends at its time, neither earlier nor later. It may have messages of the
// second after that, because the recorder handles its timer when its turn comes.
func (w *world) checkRecordings(when string) {
	for _, n := range w.nodes {
		n.checkRecordings(when)
	}
	w.count("recordings compared")
}

func (n *node) checkRecordings(when string) {
	var all []status.Recording
	n.w.outside(func(ctx context.Context) { all, _ = n.gateway.Records(ctx, status.RecordQuery{}) })
	for _, r := range all {
		until, known := n.recorded[r.Actor]
		switch now := time.Now(); {
		case !known || !r.Until.Equal(until):
			n.violated("%s: the recording of %s ends at %v, want %v", when, r.Actor, r.Until, until)
		case r.Ended != !now.Before(until):
			n.violated("%s: the recording of %s until %v has ended: %v", when, r.Actor, until, r.Ended)
		}
		order := uint64(0)
		for _, m := range r.Messages {
			if m.Number <= order || m.At.After(r.Until.Add(time.Second)) || strings.Contains(m.Type, "Inspect") {
				n.violated("%s: the recording of %s until %v has an unexpected message %d after %d: %+v", when, r.Actor, r.Until, m.Number, order, m)
				break
			}
			order = m.Number
			n.w.count("a recorded message")
		}
	}
	for name, until := range n.recorded {
		if time.Now().Before(until.Add(10*time.Minute)) && !slices.ContainsFunc(all, func(r status.Recording) bool { return r.Actor == name }) {
			n.violated("%s: the recording of %s is not kept", when, name)
		}
	}
}

// recordServer records the actors of the first server that runs for ten minutes, unless such a recording is running or too
// many actors are recorded.
func (w *world) recordServer() {
	for _, n := range w.nodes {
		n.recordServer()
	}
}

func (n *node) recordServer() {
	if time.Now().Before(n.recorded[n.recordedPool]) {
		return
	}
	n.recordedPool = ""
	for _, m := range n.gateway.Mailboxes() {
		server, ok := strings.CutPrefix(m.Name, "gateway/pool/")
		if ok && !strings.Contains(server, "/") && (n.recordedPool == "" || m.Name < n.recordedPool) {
			n.recordedPool = m.Name
		}
	}
	if n.recordedPool == "" {
		return
	}
	n.w.outside(func(ctx context.Context) {
		server := strings.TrimPrefix(n.recordedPool, "gateway/pool/")
		if err := n.gateway.Act(ctx, status.Action{Verb: status.Record, Server: server, Seconds: 600}); err != nil {
			n.recordedPool = ""
		}
	})
	until := time.Now().Add(10 * time.Minute)
	n.recorded = map[string]time.Time{n.recordedPool: until}
	n.w.outside(func(ctx context.Context) {
		all, _ := n.gateway.Records(ctx, status.RecordQuery{})
		for _, r := range all {
			if !r.Ended && !r.Until.Equal(until) {
				n.recorded[r.Actor] = r.Until
			}
		}
	})
}

// checkJoined checks that each running actor which holds a call that the recorded server's pool has handled is recorded,
// also if its first call came during the recording, unless as many actors are recorded as possible. An actor that had a
// recording of its own may have none any more, because at most 64 are kept.
func (w *world) checkJoined(when string) {
	for _, n := range w.nodes {
		n.checkJoined(when)
	}
}

func (n *node) checkJoined(when string) {
	var all []status.Recording
	n.w.outside(func(ctx context.Context) { all, _ = n.gateway.Records(ctx, status.RecordQuery{}) })
	recorded, running, now := map[string]bool{}, map[string]bool{}, 0
	for _, r := range all {
		recorded[r.Actor] = true
		if !r.Ended {
			now++
		}
	}
	for _, m := range n.gateway.Mailboxes() {
		running[message.ShortName(m.Name)] = true
	}
	for _, r := range all {
		if r.Actor != n.recordedPool || now >= status.MaxRecorded {
			continue
		}
		for _, m := range r.Messages {
			holder := "gateway/" + path.Dir(m.Call)
			switch {
			case m.Call == "" || m.At.Before(r.Began) || !running[holder] || !n.recorded[holder].IsZero():
			case !recorded[holder]:
				n.violated("%s: %s holds the call %s of the recorded %s, but is not recorded", when, holder, m.Call, r.Actor)
			default:
				n.w.count("a recorded holder of a call")
			}
		}
	}
}
