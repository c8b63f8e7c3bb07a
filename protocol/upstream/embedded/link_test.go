package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

// pong answers every request with an empty result, until the connection ends.
func pong(ctx context.Context, c *Conn) error {
	for id := 1; ; id++ {
		if _, err := c.Read(ctx); err != nil {
			return err
		}
		if err := c.Write(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id)); err != nil {
			return err
		}
	}
}

func request(id int) upstream.Outgoing {
	return upstream.Outgoing{Ticket: uint64(id), Frame: linktest.Request(id), Request: true}
}

// ends waits until the link is closed. It checks that Opened came first and that each ticket was reported once.
func ends(t *testing.T, r *linktest.Recorder, tickets int) upstream.Closed {
	t.Helper()
	closed := linktest.Wait[upstream.Closed](r, 1)
	events := r.Events()
	if _, ok := events[0].(upstream.Opened); !ok {
		t.Errorf("first event %#v", events[0])
	}
	sent, _ := linktest.Tickets(events)
	for id := 1; id <= tickets; id++ {
		if sent[uint64(id)] != 1 {
			t.Errorf("ticket %d was reported %d times\n%s", id, sent[uint64(id)], linktest.Dump(events))
		}
	}
	return closed
}

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		l := Open(Options{Serve: pong}, r.Sink)
		for id := 1; id <= 50; id++ {
			l.Send(request(id))
		}
		linktest.Wait[upstream.Received](r, 50)
		l.Close(time.Second)
		if closed := ends(t, r, 50); closed.Err != nil {
			t.Errorf("closed with %v", closed.Err)
		}
		l.Send(request(51))
	})
}

// However the function ends, its link reports why, refuses what was not read, and stays silent afterwards.
func TestFunctionEnds(t *testing.T) {
	failed := errors.New("no more")
	for _, test := range []struct {
		name  string
		serve func(context.Context, *Conn) error
		want  string
	}{
		{"error", func(context.Context, *Conn) error { return failed }, "no more"},
		{"nil", func(context.Context, *Conn) error { return nil }, ErrReturned.Error()},
		{"panic", func(context.Context, *Conn) error { panic("boom") }, "the server's function panicked: boom"},
		{"goexit", func(context.Context, *Conn) error { runtime.Goexit(); return nil }, errExited.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := linktest.New(t)
				hold, kept := make(chan struct{}), make(chan *Conn, 1)
				l := Open(Options{Serve: func(ctx context.Context, c *Conn) error {
					kept <- c
					<-hold
					return test.serve(ctx, c)
				}}, r.Sink)
				l.Send(request(1))
				synctest.Wait()
				close(hold)
				if closed := ends(t, r, 1); closed.Err == nil || closed.Err.Error() != test.want {
					t.Errorf("closed with %v, want %s", closed.Err, test.want)
				}
				c := <-kept
				if err := c.Write(t.Context(), linktest.Request(9)); !errors.Is(err, upstream.ErrClosed) {
					t.Errorf("Write after the end: %v", err)
				}
				if _, err := c.Read(t.Context()); err != io.EOF {
					t.Errorf("Read after the end: %v", err)
				}
				l.Close(0)
			})
		})
	}
}

// A function that ignores the end of its context is left behind, and the link ends nevertheless.
func TestFunctionThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		hold, left := make(chan struct{}), make(chan struct{})
		l := Open(Options{Serve: func(context.Context, *Conn) error { <-hold; return nil }, Left: func() { close(left) }}, r.Sink)
		began := time.Now()
		l.Close(time.Second)
		if closed := ends(t, r, 0); closed.Err != nil {
			t.Errorf("closed with %v", closed.Err)
		}
		<-left
		if took := time.Since(began); took != time.Second+returnWithin {
			t.Errorf("it took %v", took)
		}
		close(hold)
	})
}

// A function that does not read loses its connection after ReadTimeout. Until then, its queue is bounded.
func TestFunctionThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		budget := stream.NewBudget(1 << 20)
		l := Open(Options{Serve: func(ctx context.Context, _ *Conn) error { <-ctx.Done(); return nil }, QueueBytes: 1000, Budget: budget}, r.Sink)
		for id := 1; id <= 100; id++ {
			l.Send(request(id))
		}
		refused := linktest.Wait[upstream.NotSent](r, 1)
		if !errors.Is(refused.Err, upstream.ErrQueueFull) {
			t.Errorf("refused with %v", refused.Err)
		}
		if closed := ends(t, r, 100); !errors.Is(closed.Err, ErrNotReading) {
			t.Errorf("closed with %v", closed.Err)
		}
		if budget.Used() != 0 {
			t.Errorf("%d bytes of the budget are not returned", budget.Used())
		}
	})
}

// While the gateway has no room, Write blocks. The end of the link releases it.
func TestWriteBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written atomic.Int32
		l := Open(Options{Serve: func(ctx context.Context, c *Conn) error {
			for c.Write(ctx, []byte(`{"jsonrpc":"2.0","method":"x"}`)) == nil {
				written.Add(1)
			}
			return nil
		}}, func(ctx context.Context, e upstream.Event) error {
			if _, is := e.(upstream.Received); is && written.Load() == 10 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		time.Sleep(time.Hour)
		if n := written.Load(); n != 10 {
			t.Errorf("%d messages were accepted", n)
		}
		l.Close(0)
		synctest.Wait()
	})
}

// Messages that are not JSON-RPC or too large are reported and returned to the function. The connection stays.
func TestBadMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		errs := make(chan error, 3)
		l := Open(Options{MaxMessageBytes: 1000, Serve: func(ctx context.Context, c *Conn) error {
			for _, m := range []string{"hello", `{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0","id":7,"result":{"x":"` + strings.Repeat("x", 1000) + `"}}`} {
				errs <- c.Write(ctx, []byte(m))
			}
			return pong(ctx, c)
		}}, r.Sink)
		for range 3 {
			if err := <-errs; err == nil {
				t.Error("a bad message was accepted")
			}
		}
		if n := linktest.Wait[upstream.Noise](r, 3); !bytes.Equal(n.ID, []byte("7")) || !errors.Is(n.Err, stream.ErrFrameTooLarge) {
			t.Errorf("got %+v", n)
		}
		l.Send(request(1))
		linktest.Wait[upstream.Received](r, 1)
		l.Close(time.Second)
		ends(t, r, 1)
	})
}

// The function may reuse and change the bytes that it reads and writes.
func TestBytesAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		l := Open(Options{Serve: func(ctx context.Context, c *Conn) error {
			m, err := c.Read(ctx)
			if err != nil {
				return err
			}
			clear(m)
			out := []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			if err := c.Write(ctx, out); err != nil {
				return err
			}
			clear(out)
			return pong(ctx, c)
		}}, r.Sink)
		o := request(1)
		l.Send(o)
		if got := linktest.Wait[upstream.Received](r, 1); string(got.Frame.Raw) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("received %q", got.Frame.Raw)
		}
		synctest.Wait()
		if !bytes.Equal(o.Frame, linktest.Request(1)) {
			t.Errorf("the gateway's bytes were changed: %q", o.Frame)
		}
		l.Close(0)
		ends(t, r, 1)
	})
}

func TestReceiverIsGone(t *testing.T) {
	synctest.Test(t, func(_ *testing.T) {
		l := Open(Options{Serve: pong}, func(context.Context, upstream.Event) error { return errors.New("gone") })
		l.Send(request(1))
		synctest.Wait()
		l.Close(0)
	})
}
