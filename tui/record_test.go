package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// recordedPicture returns the sample with messages about the running call of github_search_code.
func recordedPicture() *Picture {
	p := *samplePicture()
	snapshot := *p.Snapshot
	snapshot.Actors = append([]status.Actor{}, snapshot.Actors...)
	snapshot.Servers = append([]status.Server{}, snapshot.Servers...)
	until := noon.Add(42 * time.Second)
	for i := range snapshot.Actors {
		if a := &snapshot.Actors[i]; a.Name == "gateway/pool/github" || a.Name == "gateway/desk/0" {
			a.Recorded = until
		}
	}
	snapshot.Servers[1].Recorded = until
	p.Snapshot = &snapshot
	began := noon.Add(-3 * time.Second)
	message := func(number uint64, ms float64, kind, class string, bytes, depth int, phase string) status.RecordedMessage {
		return status.RecordedMessage{Number: number, At: began.Add(time.Duration(ms * 1e6)), Type: kind, Class: class, Call: "desk/0/4", Bytes: bytes, Depth: depth, Phase: phase}
	}
	p.Records = records{list: []status.Recording{
		{Actor: "gateway/pool/github", Began: noon.Add(-18 * time.Second), Until: until, Handled: 90, Messages: []status.RecordedMessage{
			message(7, .09, "message.Dispatch", "work", 138, 3, "ready")}},
		{Actor: "gateway/pool/github/backend/1.4", Began: noon.Add(-18 * time.Second), Until: until, Handled: 41, Messages: []status.RecordedMessage{
			message(8, 11.24, "message.Send", "work", 138, 1, "ready"), message(11, 46.3, "backend.linkEvent", "step", 4198, 1, "ready")}},
		{Actor: "gateway/desk/0", Began: noon.Add(-18 * time.Second), Until: until, Handled: 64, Messages: []status.RecordedMessage{
			message(5, 0, "message.StatelessRequest", "work", 120, 1, ""), message(12, 46.4, "message.Done", "outcome", 4198, 2, "")}},
		{Actor: "gateway/session/1ak3v7qd", Began: noon.Add(-18 * time.Second), Until: until, Handled: 3, Messages: []status.RecordedMessage{}},
	}}
	return &p
}

// The screens of a recording: the actors' tree, the page of a call and that of an actor, the servers, and the actions of
// a row.
func TestRecordingScreens(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"record-actors", "8"},
		{"record-call", "6/github_search<enter><enter>"},
		{"record-call-message", "6/github_search<enter><enter><tab><down>d"},
		{"record-actor", "8<down><enter>"},
		{"record-overview", ""},
		{"record-calls", "6"},
		{"record-actions", "8<down>x"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			goldenScreen(t, c.name, c.keys, size, Options{}, recordedPicture())
			goldenScreen(t, "mono-"+c.name, c.keys, size, Options{Palette: "mono"}, recordedPicture())
		}
	}
}

// r records the actor, or the server of the row or of the call. x lists the recording with its request.
func TestRecordKeys(t *testing.T) {
	for _, c := range []struct {
		keys string
		want status.Action
		note string // what the screen says instead of acting
	}{
		{keys: "8<down>r", want: status.Action{Verb: status.Record, Actor: "gateway/desk/0"}},
		{keys: "8<down><enter>r", want: status.Action{Verb: status.Record, Actor: "gateway/desk/0"}},
		{keys: "1r", want: status.Action{Verb: status.Record, Server: "issues"}},
		{keys: "<enter>r", want: status.Action{Verb: status.Record, Server: "issues"}},
		{keys: "6r", want: status.Action{Verb: status.Record, Server: "github"}},
		{keys: "6<enter>r", want: status.Action{Verb: status.Record, Server: "github"}},
		{keys: "6<enter><tab>r", want: status.Action{Verb: status.Record, Server: "github"}},
		{keys: ":subscriptions<enter>r", note: "r: nothing to run or record here; press x to record the row's server"},
		{keys: "7r", note: "r: nothing to run or record here"},
		{keys: "6/red_file<enter>r", note: "r: nothing to run or record here"},
		{keys: "6/red_file<enter><enter>r", note: "r: this call has no server"},
		{keys: "1/old<enter>r", note: "r: this server is disabled"},
		{keys: "8/nothing<enter>r", note: "r: no row is selected"},
	} {
		t.Run(c.keys, func(t *testing.T) {
			s := newTestConsole(t, 120, 40, Options{})
			source := s.app.source.(*fixed)
			source.acted = make(chan status.Action, 1)
			s.press(c.keys)
			if c.note != "" {
				s.has(c.note)
				return
			}
			select {
			case got := <-source.acted:
				if got != samplePicture().Aimed(c.want) {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
			case <-time.After(10 * time.Second):
				s.has("an action")
			}
			s.press("x")
			s.has("= " + recordCommand(c.want))
		})
	}
	s := newTestConsole(t, 120, 40, Options{ReadOnly: true})
	s.press("1r")
	s.has("r: this console is read-only")
	s.press("x")
	s.has(`= POST /actions/record {"server": "issues"}  this console is read-only`)
}

// newer is a Source with one more message at each query.
type newer struct {
	fixed
	queries []status.RecordQuery
}

func (n *newer) Records(_ context.Context, q status.RecordQuery) ([]status.Recording, error) {
	n.queries = append(n.queries, q)
	number := q.After + 1
	return []status.Recording{{Actor: "gateway/desk/0", Until: noon, Handled: number, Messages: []status.RecordedMessage{{Number: number, At: noon, Type: "message.Done"}}}}, nil
}

// The console fetches only newer messages, keeps at most maxMessages of each actor, and begins again for another call.
func TestRecordsFetchNewMessages(t *testing.T) {
	source := &newer{}
	var r records
	var err error
	for range maxMessages + 10 {
		if r, err = r.with(t.Context(), source, status.RecordQuery{Call: "desk/0/4"}); err != nil {
			t.Fatal(err)
		}
	}
	if all := r.merged(); len(all) != maxMessages || all[0].Number != 11 || all[len(all)-1].Number != maxMessages+10 {
		t.Errorf("%d messages are kept", len(all))
	}
	if last := source.queries[len(source.queries)-1]; last != (status.RecordQuery{Call: "desk/0/4", After: maxMessages + 9}) {
		t.Errorf("the last query is %+v", last)
	}
	if r, err = r.with(t.Context(), source, status.RecordQuery{Call: "desk/0/5"}); err != nil || len(r.merged()) != 1 {
		t.Errorf("another call: %d messages, %v", len(r.merged()), err)
	}
}

// While a page of a call or an actor is visible, its messages are fetched; elsewhere they are not.
func TestRecordsAreFetchedForThePage(t *testing.T) {
	source := &newer{}
	p := newPump(source, time.Now, func(*Picture) {})
	p.take(status.Notice{Snapshot: samplePicture().Snapshot})
	for _, want := range []wants{{}, wantsOf(newViewOf(actorKind, scope{actor: "gateway/desk/0"})), wantsOf(newViewOf(callKind, scope{call: callKey("desk", "github_search_code", noon.Add(-3*time.Second))})), wantsOf(newViewOf(callKind, scope{call: "gone"}))} {
		p.fetch(t.Context(), want)
	}
	var got []string
	for _, q := range source.queries {
		got = append(got, q.Actor+q.Call)
	}
	if all := strings.Join(got, ", "); all != "gateway/desk/0, desk/0/4" {
		t.Errorf("queries: %s", all)
	}
	if n := len(p.picture().Records.list); n != 0 {
		t.Errorf("%d recordings are shown for a call that is no longer known", n)
	}
}
