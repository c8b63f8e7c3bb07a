package relay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/downstream"
)

// A stream that is idle again and again loses nothing, whatever arrives at whatever time. Idle streams have no goroutine.
func TestParkedStreams(t *testing.T) {
	const streams, messages = 20, 150
	var senders sync.WaitGroup
	w := newRig(t, handlerFunc{open: func(s *downstream.EventStream) {
		s.Accept()
		senders.Go(func() {
			for i := range messages {
				s.Push(frame(fmt.Sprintf("%q", fmt.Sprint(i, " ", strings.Repeat("x", rand.N(1<<(4+rand.N(13))))))), downstream.WeightAnswer, "")
				if rand.N(3) > 0 {
					time.Sleep(time.Duration(rand.N(3_000)) * time.Microsecond)
				}
			}
			s.Close()
		})
	}}, nil)
	var readers sync.WaitGroup
	for range streams {
		c := dial(t, w.first).send(get)
		readers.Go(func() {
			head, body, _ := c.read()
			all := body
			for i := range messages {
				_, rest, found := strings.Cut(body, fmt.Sprintf("event: message\ndata: \"%d ", i))
				if !found {
					t.Errorf("message %d is missing: %q %.200q", i, head, all)
					return
				}
				body = rest
			}
		})
	}
	readers.Wait()
	senders.Wait()
	for w.relay.Stats().Streams != 0 {
		time.Sleep(time.Millisecond)
	}
	w.relay.mu.Lock()
	defer w.relay.mu.Unlock()
	if len(w.relay.watched) != 0 || w.relay.poller != nil {
		t.Errorf("%d streams are watched, poller %v", len(w.relay.watched), w.relay.poller)
	}
}
