package bus

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Solo returns the bus of a node without other nodes. It delivers the node's messages to the node itself. Records are kept in
// memory only. Their revisions begin at the Unix time in milliseconds, so that they also rise from one start to the next.
func Solo() Bus {
	s := &solo{done: make(chan struct{})}
	s.records.ledger.revision = uint64(time.Now().UnixMilli())
	return s
}

type solo struct {
	dropped atomic.Uint64
	records soloRecords

	mu            sync.Mutex
	subscriptions []*soloSubscription
	closed        bool
	done          chan struct{} // closed when closed becomes true
}

// soloSubscription is a subscription. Its goroutine ends when the queue is closed.
type soloSubscription struct {
	pattern string
	waiting *queue[Message]
}

func (s *solo) Publish(subject string, payload []byte) {
	if CheckSubject(subject, false) != nil || len(payload) > MaxPayload {
		s.dropped.Add(1)
		return
	}
	s.send(Message{Subject: subject, Payload: payload})
}

// send gives a message to all subscriptions that match, and returns their number.
func (s *solo) send(m Message) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, sub := range s.subscriptions {
		if Matches(sub.pattern, m.Subject) {
			own := m
			own.Payload = slices.Clone(m.Payload)
			sub.waiting.put(own)
			n++
		}
	}
	return n
}

func (s *solo) Subscribe(subject string, handle func(Message)) (func(), error) {
	if err := CheckSubject(subject, true); err != nil {
		return nil, err
	}
	sub := &soloSubscription{pattern: subject, waiting: newQueue(func(m Message) int { return len(m.Payload) }, &s.dropped)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.subscriptions = append(s.subscriptions, sub)
	go func() {
		for {
			m, ok := sub.waiting.take()
			if !ok {
				return
			}
			handle(m)
		}
	}()
	return func() { s.cancel(sub) }, nil
}

func (s *solo) cancel(sub *soloSubscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(other *soloSubscription) bool { return other == sub })
	sub.waiting.close()
}

func (s *solo) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	if err := checkQuestion(subject, question); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longestQuestion)
	defer cancel()
	answers := make(chan []byte, 1)
	n := s.send(Message{Subject: subject, Payload: question, respond: func(answer []byte) {
		if len(answer) > MaxPayload {
			s.dropped.Add(1)
			return
		}
		select {
		case answers <- answer:
		default: // it is not the first one
		}
	}})
	if n == 0 {
		select {
		case <-s.done:
			return nil, ErrClosed
		default:
			return nil, ErrNoListener
		}
	}
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, ErrClosed
	}
}

// checkQuestion returns an error if the subject or the question is not permitted.
func checkQuestion(subject string, question []byte) error {
	if len(question) > MaxQuestion {
		return ErrTooLarge
	}
	return CheckSubject(subject, false)
}

func (s *solo) Records() Records { return &s.records }

func (s *solo) Status() Status {
	return Status{Engine: "solo", Dropped: s.dropped.Load()}
}

func (s *solo) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.records.close()
	for _, sub := range s.subscriptions {
		sub.waiting.close()
	}
	s.subscriptions = nil
}
