package session

import (
	"testing"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// notRead is the connection of a client that reads nothing.
type notRead struct{}

func (notRead) Wake()           {}
func (notRead) Watch()          {}
func (notRead) Lost()           {}
func (notRead) Kill()           {}
func (notRead) DroppedLogs(int) {}
func (notRead) Run(f func())    { f() }

// S0.10.6: The report of a session whose client reads too slowly says how much is unsent, how many messages were dropped, and how many
// updates were merged.
func TestReportOfASlowClient(t *testing.T) {
	stream := downstream.NewStreamResponse(downstream.Origin{}, notRead{}, nil, 1<<20)
	stream.Accept()
	s := &session{Options: Options{Metrics: status.NewMetrics()}, state: newState(Options{ID: "1aid", Transport: "http"}, kernel.Reference{})}
	s.state.streams = []*downstream.EventStream{&stream.EventStream}
	if r := s.report(); r.Session.Unsent != 0 || r.Session.Dropped != 0 || r.Changing {
		t.Errorf("an idle session: %+v", r)
	}
	sub := &clientsubs.Subscription{Public: "file:///a"}
	s.state.subs.active = map[clientsubs.Resource]*clientsubs.Subscription{{Server: "one", URI: "file:///a"}: sub}
	for range 260 {
		s.push(kernel.Self{}, push{streams: s.state.streams, message: protocol.Message{Frame: []byte("log.")}})
	}
	for range 5 {
		s.push(kernel.Self{}, push{streams: s.state.streams, message: protocol.Message{Frame: []byte("updated.")}, key: "a", subscription: sub})
	}
	s.Act(kernel.Self{}, coalesced{sub})
	r := s.report()
	if r.Session.Unsent != 256*4+8 || r.Session.Dropped != 4 || !r.Changing {
		t.Errorf("got %d bytes unsent, %d dropped, changing %v", r.Session.Unsent, r.Session.Dropped, r.Changing)
	}
	if got := r.Subscriptions[0]; got.Told != 1 || got.Merged != 5 || got.LastMinute != 1 || got.Last.IsZero() {
		t.Errorf("got %+v", got)
	}
	stream.Leave()
	s.push(kernel.Self{}, push{streams: s.state.streams, message: protocol.Message{Frame: []byte("updated.")}, key: "a", subscription: sub})
	if r := s.report(); r.Session.Unsent != 0 || r.Session.Dropped != 4 || r.Changing || r.Subscriptions[0].Told != 1 {
		t.Errorf("after the stream has ended: %+v", r)
	}
}
