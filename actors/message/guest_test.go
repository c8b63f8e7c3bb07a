package message_test

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/downstream"
)

// recordingRelay records where requests go.
type recordingRelay struct{ homes []string }

func (r *recordingRelay) Post(incarnation string, _ *downstream.Exchange) {
	r.homes = append(r.homes, incarnation)
}

// wakeless is the connection of a response that the test reads by itself.
type wakeless struct{ downstream.Connection }

func (wakeless) Wake() {}

// A message that a guest has not handled goes to the session's home. One that it may have handled does not.
func TestMessageOfAGuestThatHasEnded(t *testing.T) {
	for why, want := range map[kernel.Reason]int{kernel.ReceiverStopped: 0, kernel.NotRunning: 0, kernel.Overloaded: 503, kernel.Panicked: 500} {
		response, relay := downstream.NewResponse(downstream.Origin{}, wakeless{}, nil, 0), &recordingRelay{}
		message.GuestInbound{Inbound: message.Inbound{Exchange: &response.Exchange}, Home: "home", Relay: relay}.Abandon(why)
		head, answered := response.Head()
		if answered != (want > 0) || head.Status != want || (len(relay.homes) == 1 && relay.homes[0] == "home") != (want == 0) {
			t.Errorf("%s: status %d, passed on to %q", why, head.Status, relay.homes)
		}
	}
}
