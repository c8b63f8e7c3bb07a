package message_test

import (
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/downstream"
)

// recorder records what is decided again.
type recorder struct{ again []string }

func (r *recorder) Post(*downstream.Exchange, message.Admitted)    { r.again = append(r.again, "POST") }
func (r *recorder) Open(*downstream.EventStream, message.Admitted) { r.again = append(r.again, "GET") }
func (r *recorder) Delete(*downstream.Exchange, message.Admitted) {
	r.again = append(r.again, "DELETE")
}

// wakeless is the connection of a response that the test reads by itself.
type wakeless struct{ downstream.Connection }

func (wakeless) Wake() {}

// What a session of a cluster has not handled before it has ended is decided again. What it may have handled is not.
func TestMessagesOfASessionThatHasEnded(t *testing.T) {
	for why, want := range map[kernel.Reason]int{kernel.ReceiverStopped: 0, kernel.NotRunning: 0, kernel.Overloaded: 503, kernel.Panicked: 500} {
		response, decides := downstream.NewResponse(downstream.Origin{}, wakeless{}, nil, 0), &recorder{}
		message.ClusterInbound{Inbound: message.Inbound{Exchange: &response.Exchange}, Elsewhere: decides}.Abandon(why)
		head, answered := response.Head()
		if answered != (want > 0) || head.Status != want || (len(decides.again) == 1 && decides.again[0] == "POST") != (want == 0) {
			t.Errorf("%s: status %d, decided again %q", why, head.Status, decides.again)
		}
	}
	stream, response, decides := downstream.NewStreamResponse(downstream.Origin{}, wakeless{}, nil, 0), downstream.NewResponse(downstream.Origin{}, wakeless{}, nil, 0), &recorder{}
	message.ClusterStream{StreamOpened: message.StreamOpened{Stream: &stream.EventStream}, Elsewhere: decides}.Abandon(kernel.ReceiverStopped)
	message.ClusterEnd{EndSession: message.EndSession{Exchange: &response.Exchange}, Elsewhere: decides}.Abandon(kernel.NotRunning)
	if len(decides.again) != 2 || decides.again[0] != "GET" || decides.again[1] != "DELETE" {
		t.Errorf("decided again %q", decides.again)
	}
}
