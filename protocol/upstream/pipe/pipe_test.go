package pipe

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := linktest.New(t)
		l, peer := New(r.Sink)
		l.SetVersion("2025-11-25")
		l.Listen()
		l.Send(upstream.Outgoing{Ticket: 1, Frame: linktest.Request(1), Request: true})
		l.Send(upstream.Outgoing{Ticket: 2, Frame: linktest.Request(2), Request: true})
		for i := 1; i <= 2; i++ {
			o, err := peer.Receive()
			if err != nil || string(o.Frame) != string(linktest.Request(i)) {
				t.Fatalf("Receive = %s, %v", o.Frame, err)
			}
		}
		l.Cancel(2)
		if err := peer.Send([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)); err != nil {
			t.Fatal(err)
		}
		if err := peer.Answer(2, []byte(`{"jsonrpc":"2.0","id":2,"result":{}}`)); err != nil {
			t.Fatal(err)
		}
		if err := peer.Send([]byte("garbage")); err == nil {
			t.Error("garbage was accepted")
		}
		if err := peer.Tell(upstream.SessionLost{Ticket: 7}); err != nil {
			t.Fatal(err)
		}
		if peer.Version() != "2025-11-25" || peer.Listens() != 1 || len(peer.Canceled()) != 1 {
			t.Errorf("peer saw %q, %d, %v", peer.Version(), peer.Listens(), peer.Canceled())
		}
		received := make(chan error)
		go func() { _, err := peer.Receive(); received <- err }()
		synctest.Wait()
		cause := errors.New("server died")
		peer.Close(cause)
		peer.Close(nil)
		if err := <-received; err != io.EOF {
			t.Errorf("Receive after Close: %v", err)
		}
		<-peer.Done()
		l.Send(upstream.Outgoing{Ticket: 3})
		if err := peer.Tell(upstream.Noise{}); !errors.Is(err, upstream.ErrClosed) {
			t.Errorf("Tell after Close: %v", err)
		}
		events := r.Events()
		if _, ok := events[0].(upstream.Opened); !ok {
			t.Errorf("first event %#v", events[0])
		}
		if c, ok := events[len(events)-1].(upstream.Closed); !ok || c.Err != cause {
			t.Errorf("last event %#v", events[len(events)-1])
		}
		if n := len(linktest.All[upstream.Written](r)); n != 2 {
			t.Errorf("%d Written", n)
		}
		if got := linktest.All[upstream.Received](r); len(got) != 2 || got[0].Last || !got[1].Last || got[1].Ticket != 2 {
			t.Errorf("%#v", got)
		}
	})
}

// A sink that blocks also blocks the peer, until Close.
func TestPipeBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last upstream.Event
		l, peer := New(func(ctx context.Context, e upstream.Event) error {
			if _, is := e.(upstream.Received); is {
				<-ctx.Done()
				return ctx.Err()
			}
			last = e
			return nil
		})
		sent := make(chan error, 1)
		go func() { sent <- peer.Send([]byte(`{"jsonrpc":"2.0","method":"x"}`)) }()
		time.Sleep(time.Hour)
		if len(sent) != 0 {
			t.Error("Send did not block")
		}
		l.Close(time.Minute)
		if err := <-sent; err == nil {
			t.Error("Send succeeded")
		}
		<-peer.Done()
		if c, ok := last.(upstream.Closed); !ok || c.Err != nil {
			t.Errorf("last event %#v", last)
		}
	})
}

func TestPipeWithoutReceiver(t *testing.T) {
	synctest.Test(t, func(_ *testing.T) {
		l, peer := New(func(context.Context, upstream.Event) error { return errors.New("gone") })
		<-peer.Done()
		l.Send(upstream.Outgoing{Ticket: 1})
		l.Close(0)
	})
}
