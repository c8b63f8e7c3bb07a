package actors

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/monitor"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

// record starts a recording. It blocks until the recorder has answered or ctx ends.
func (g *Gateway) record(ctx context.Context, a status.Action) error {
	d := status.RecordTime
	if a.Seconds != 0 {
		d = time.Duration(a.Seconds) * time.Second
	}
	switch {
	case (a.Actor == "") == (a.Server == ""):
		return fmt.Errorf("record messages: %w; name either an actor or a server", status.ErrBadAction)
	case a.Seconds < 0 || a.Seconds > int(status.MaxRecordTime.Seconds()):
		return fmt.Errorf("record messages for %d seconds: %w; choose 1 to %d seconds", a.Seconds, status.ErrBadAction, int(status.MaxRecordTime.Seconds()))
	}
	actors, err := g.recorded(ctx, a)
	if err != nil {
		return err
	}
	reply := make(chan error, 1)
	g.recorder.Tell(message.StartRecording{Actors: actors, For: d, Server: a.Server, Actor: a.Actor, Reply: reply})
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// recorded returns the full names of the actors that an action records: one actor, or those of a server.
func (g *Gateway) recorded(ctx context.Context, a status.Action) ([]string, error) {
	infos := g.system.Actors()
	if a.Actor != "" {
		for _, i := range infos {
			if message.ShortName(i.Name) == a.Actor {
				return []string{i.Name}, nil
			}
		}
		return nil, fmt.Errorf("record actor %q: %w", a.Actor, status.ErrNotThere)
	}
	pool := "gateway/pool/" + a.Server
	if !slices.ContainsFunc(infos, func(i kernel.Info) bool { return i.Name == pool }) {
		return nil, fmt.Errorf("record server %q: %w", a.Server, status.ErrNotThere)
	}
	holders, err := g.holders(ctx, a.Server)
	if err != nil {
		return nil, err
	}
	names := []string{pool}
	for _, i := range infos {
		if strings.HasPrefix(i.Name, pool+"/") && i.Kind == "backend" || i.Kind == "desk" {
			names = append(names, i.Name)
		}
	}
	for _, public := range holders {
		for _, i := range infos {
			if i.Kind == "session" && message.ShortName(i.Name) == public && !slices.Contains(names, i.Name) {
				names = append(names, i.Name)
			}
		}
	}
	return names[:min(len(names), status.MaxRecorded)], nil
}

// holders returns the public names of the sessions that hold calls of a server, then of those whose calls have ended recently.
func (g *Gateway) holders(ctx context.Context, server string) ([]string, error) {
	snapshot, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, c := range snapshot.Calls {
		if c.Server == server {
			all = append(all, "gateway/session/"+c.Session)
		}
	}
	finished := g.metrics.Finished(server, 0)
	for _, f := range slices.Backward(finished) {
		all = append(all, "gateway/session/"+f.Session)
	}
	return all, nil
}

// recordingEnded adds the end of a recording to the audit log. Its beginning is there as an action.
func (g *Gateway) recordingEnded(r monitor.RecordingEnded) {
	g.audit.Record(audit.Record{Event: audit.EventAdmin, Who: identity.LocalID, Via: identity.ViaLocal, Method: "record ended", Server: r.Server, Item: r.Actor, Outcome: "ok",
		Took: time.Since(r.Began), Detail: strconv.Itoa(r.Actors) + " actors"})
}

// Records returns recordings: see status.Local.
func (g *Gateway) Records(ctx context.Context, q status.RecordQuery) ([]status.Recording, error) {
	last := g.system.Recorded() // before the request: a recording that begins later has no message up to last
	reply := make(chan []message.Recording, 1)
	g.recorder.Tell(message.GetRecordings{Reply: reply})
	select {
	case all := <-reply:
		if all == nil {
			return nil, ErrStopped
		}
		return recordingsOf(all, q, last), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// recordingsOf returns the messages that a query selects, up to the number last. Later ones are left out, because an
// earlier message of another actor may have been recorded after its recorder was read; a query for those after the newest
// would miss it.
func recordingsOf(all []message.Recording, q status.RecordQuery, last uint64) []status.Recording {
	list := []status.Recording{} // an empty list in JSON is [], not null
	for _, r := range all {
		shown := status.Recording{Actor: message.ShortName(r.Actor), Began: r.Began, Until: r.Until, Ended: r.Ended, Messages: []status.RecordedMessage{}}
		if q.Actor != "" && q.Actor != shown.Actor {
			continue
		}
		messages, total := r.Recorder.Messages()
		shown.Handled = total
		for i := range messages {
			m := recordedMessage(&messages[i])
			if m.Number > q.After && m.Number <= last && (q.Call == "" || q.Call == m.Call) {
				shown.Messages = append(shown.Messages, m)
			}
		}
		list = append(list, shown)
	}
	return list
}

func recordedMessage(m *kernel.RecordedMessage) status.RecordedMessage {
	shown := status.RecordedMessage{Number: m.Order, At: m.At, Type: m.Type, Class: m.Class.String(), Bytes: m.Bytes, Depth: m.Depth, Phase: m.Phase}
	if m.Number != 0 {
		shown.Call = message.HolderOf(m.Holder) + "/" + strconv.FormatUint(message.SeqNumber(m.Number), 10)
	}
	return shown
}
