package transport

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newLinkRecorder(t)
		l, peer := NewPipe(r.sink)
		l.SetVersion("2025-11-25")
		l.Listen()
		l.Send(Outgoing{Ticket: 1, Frame: processTestFrame(1), Request: true})
		l.Send(Outgoing{Ticket: 2, Frame: processTestFrame(2), Request: true})
		for i := 1; i <= 2; i++ {
			o, err := peer.Receive()
			if err != nil || string(o.Frame) != string(processTestFrame(i)) {
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
			t.Error("garbage was sent")
		}
		if err := peer.Tell(SessionLost{Ticket: 7}); err != nil {
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
		l.Send(Outgoing{Ticket: 3})
		if err := peer.Tell(Noise{}); !errors.Is(err, ErrLinkClosed) {
			t.Errorf("Tell after Close: %v", err)
		}
		events := r.all()
		if _, ok := events[0].(Opened); !ok {
			t.Errorf("first event %#v", events[0])
		}
		if c, ok := events[len(events)-1].(Closed); !ok || c.Err != cause {
			t.Errorf("last event %#v", events[len(events)-1])
		}
		if n := len(linkAll[Written](r)); n != 2 {
			t.Errorf("%d Written", n)
		}
		if got := linkAll[Received](r); len(got) != 2 || got[0].Last || !got[1].Last || got[1].Ticket != 2 {
			t.Errorf("%#v", got)
		}
	})
}

// A sink without room stalls the peer; Close ends that.
func TestPipeBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Event
		l, peer := NewPipe(func(ctx context.Context, e Event) error {
			if _, is := e.(Received); is {
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
			t.Error("Send did not wait")
		}
		l.Close(time.Minute)
		if err := <-sent; err == nil {
			t.Error("Send succeeded")
		}
		<-peer.Done()
		if c, ok := last.(Closed); !ok || c.Err != nil {
			t.Errorf("last event %#v", last)
		}
	})
}

func TestPipeNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, peer := NewPipe(func(context.Context, Event) error { return errors.New("gone") })
		<-peer.Done()
		l.Send(Outgoing{Ticket: 1})
		l.Close(0)
	})
}
