package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// engines returns one bus of each engine that can run alone.
func engines(t *testing.T) map[string]Bus {
	b := map[string]Bus{"solo": Solo(), "embedded": startNode(t, newNode(t, "a", 1))}
	for _, bus := range b {
		t.Cleanup(bus.Close)
	}
	return b
}

func TestPublishAndSubscribe(t *testing.T) {
	for name, b := range engines(t) {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 10)
			for _, pattern := range []string{"beat", "node.*.level", "node.>"} {
				cancel, err := b.Subscribe(pattern, func(m Message) { got <- pattern + " " + m.Subject + " " + string(m.Payload) })
				if err != nil {
					t.Fatal(err)
				}
				if pattern == "node.>" {
					defer cancel()
				}
			}
			for _, subject := range []string{"beat", "node.a.level", "node", "node.a.b.c", "Beat"} {
				b.Publish(subject, []byte("x"))
			}
			var all []string
			for range 4 {
				all = append(all, receive(t, got))
			}
			slices.Sort(all)
			want := []string{"beat beat x", "node.*.level node.a.level x", "node.> node.a.b.c x", "node.> node.a.level x"}
			if !slices.Equal(all, want) {
				t.Errorf("got %q, want %q", all, want)
			}
		})
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(5 * time.Second):
		t.Fatal("nothing was received within 5 s")
	}
	panic("unreachable")
}

func TestAsk(t *testing.T) {
	for name, b := range engines(t) {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			if _, err := b.Ask(t.Context(), "echo", nil); !errors.Is(err, ErrNoListener) || time.Since(begin) > time.Second {
				t.Errorf("without listeners: %v after %v", err, time.Since(begin))
			}
			cancel, err := b.Subscribe("echo", func(m Message) {
				if m.IsQuestion() {
					m.Answer(append([]byte("re: "), m.Payload...))
					m.Answer([]byte("a second answer"))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				question := fmt.Appendf(nil, "q%d", i)
				if answer, err := b.Ask(t.Context(), "echo", question); err != nil || string(answer) != "re: "+string(question) {
					t.Errorf("%q, %v", answer, err)
				}
			}
			if answer, err := b.Ask(t.Context(), "echo", make([]byte, MaxQuestion)); err != nil || len(answer) != MaxQuestion+4 {
				t.Errorf("largest question: %d bytes, %v", len(answer), err)
			}
			if _, err := b.Ask(t.Context(), "echo", make([]byte, MaxQuestion+1)); !errors.Is(err, ErrTooLarge) {
				t.Errorf("too large: %v", err)
			}
			cancel()
			cancel()
			if _, err := b.Ask(t.Context(), "echo", nil); !errors.Is(err, ErrNoListener) {
				t.Errorf("after cancel: %v", err)
			}
		})
	}
}

// A question that gets no answer ends with its context or with the bus.
func TestAskWithoutAnswer(t *testing.T) {
	for name, b := range engines(t) {
		t.Run(name, func(t *testing.T) {
			if _, err := b.Subscribe("silent", func(Message) {}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if _, err := b.Ask(ctx, "silent", nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after 10 ms: %v", err)
			}
			ended := make(chan error)
			go func() {
				_, err := b.Ask(context.Background(), "silent", nil)
				ended <- err
			}()
			time.AfterFunc(20*time.Millisecond, b.Close)
			if err := receive(t, ended); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			if _, err := b.Ask(t.Context(), "silent", nil); !errors.Is(err, ErrClosed) {
				t.Errorf("Ask after Close: %v", err)
			}
			if _, err := b.Subscribe("x", func(Message) {}); !errors.Is(err, ErrClosed) {
				t.Errorf("Subscribe after Close: %v", err)
			}
			b.Publish("x", nil)
			b.Close()
		})
	}
}

// A handler that is slow delays no other handler and no publisher. What exceeds the limits is dropped and counted.
func TestSlowHandlers(t *testing.T) {
	for name, b := range engines(t) {
		t.Run(name, func(t *testing.T) {
			release, handled := make(chan struct{}), new(atomic.Int64)
			if _, err := b.Subscribe("flood", func(Message) { <-release; handled.Add(1) }); err != nil {
				t.Fatal(err)
			}
			marks := make(chan struct{}, 1)
			if _, err := b.Subscribe("mark", func(Message) { marks <- struct{}{} }); err != nil {
				t.Fatal(err)
			}
			const n = 3 * maxWaiting
			for i := range n {
				b.Publish("flood", []byte("x"))
				if i%500 == 0 { // wait for the outgoing queue, too
					b.Publish("mark", nil)
					receive(t, marks)
				}
			}
			b.Publish("mark", nil)
			receive(t, marks)
			close(release)
			deadline := time.Now().Add(5 * time.Second)
			for handled.Load()+int64(b.Status().Dropped) < n && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if got, dropped := handled.Load(), b.Status().Dropped; got > maxWaiting+2 || got < maxWaiting || got+int64(dropped) != n {
				t.Errorf("%d handled, %d dropped, %d sent", got, dropped, n)
			}
			b.Publish("flood", make([]byte, MaxPayload+1))
			b.Publish("not a subject", nil)
			if more := b.Status().Dropped + uint64(handled.Load()) - n; more != 2 {
				t.Errorf("%d more dropped, want 2", more)
			}
		})
	}
}

func TestSubjects(t *testing.T) {
	for subject, want := range map[string]bool{
		"beat": true, "a.b-c.D_9": true, strings.Repeat("a", MaxSubject): true,
		"": false, ".": false, "a.": false, ".a": false, "a..b": false, "a b": false, "a.*": false, ">": false, "$SYS.x": false,
		"ä": false, "a\r\nPUB": false, strings.Repeat("a", MaxSubject+1): false,
	} {
		if err := CheckSubject(subject, false); (err == nil) != want {
			t.Errorf("%q: %v", subject, err)
		}
	}
	for subject, want := range map[string]bool{"*": true, ">": true, "a.*.b": true, "a.>": true, "a.>.b": false, "a*": false, "a.b>": false} {
		if err := CheckSubject(subject, true); (err == nil) != want {
			t.Errorf("subscription to %q: %v", subject, err)
		}
	}
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"a", "a.b", false}, {"a.b", "a", false}, {"*", "a", true}, {"*", "a.b", false},
		{">", "a.b", true}, {"a.>", "a", false}, {"a.>", "a.b.c", true}, {"a.*.c", "a.b.c", true}, {"a.*.c", "a.b.d", false}, {"a.*", "a", false},
	} {
		if got := Matches(c.pattern, c.subject); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.pattern, c.subject, got)
		}
	}
}
