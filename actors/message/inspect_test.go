package message

import (
	"errors"
	"strings"
	"testing"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

// An operator's request to an actor that is gone is answered "not found". A request that an existing actor did not handle can be repeated.
func TestAbandonedActions(t *testing.T) {
	for name, request := range map[string]func(chan<- error) kernel.Abandoner{
		"restart": func(c chan<- error) kernel.Abandoner { return Restart{Reply: c} },
		"cancel":  func(c chan<- error) kernel.Abandoner { return Abort{Reply: c} },
		"end":     func(c chan<- error) kernel.Abandoner { return End{Reply: c} },
	} {
		for why, there := range map[kernel.Reason]bool{kernel.Overloaded: true, kernel.Panicked: true, kernel.ReceiverStopped: false, kernel.NotRunning: false} {
			reply := make(chan error, 1)
			request(reply).Abandon(why)
			err := <-reply
			if errors.Is(err, status.ErrNotThere) == there || there && !strings.HasSuffix(err.Error(), "; try again") {
				t.Errorf("%s, %s: %v", name, why, err)
			}
		}
		answered := make(chan error, 1)
		answered <- nil
		request(answered).Abandon(kernel.Panicked) // does not block
		request(nil).Abandon(kernel.NotRunning)
		if request(nil).(kernel.Classed).Class() != kernel.Urgent {
			t.Errorf("%s is not urgent: a full mailbox refuses it", name)
		}
	}
}

// Status queries must not change what they observe: the kernel does not count them as handled messages.
func TestQueriesAreObservations(t *testing.T) {
	for _, m := range []any{Inspect{}, GetCatalog{}, GetStatus{}, GetSeries{}} {
		if _, ok := m.(kernel.Observation); !ok {
			t.Errorf("%T is not a kernel.Observation", m)
		}
	}
}
