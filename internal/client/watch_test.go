package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/demo"
)

// restartable serves each client with a new server, and can be stopped.
type restartable struct {
	make func() *demo.Server
	shut atomic.Bool
	stop context.CancelFunc // ends the newest server
}

func (h *restartable) dial(ctx context.Context, o Options) (*Client, error) {
	if h.shut.Load() {
		return nil, fmt.Errorf("restartable: %w", ErrUnreachable)
	}
	in, to := io.Pipe()
	from, out := io.Pipe()
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	s := h.make()
	go func() {
		_ = demo.ServeStdio(run, s, in, out, slog.New(slog.DiscardHandler))
		in.Close()
		out.Close()
	}()
	return OverPipe(ctx, from, to, o)
}

// The contents are reported at the start and once after each burst of updates. After a reconnect they are reported if
// they have changed.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text atomic.Value
		text.Store("one")
		read := func(*demo.Call) (any, error) {
			if text.Load() == "" {
				return nil, errors.New("gone")
			}
			return demo.ReadResult{Contents: []demo.ResourceText{{URI: "a:b", Text: text.Load().(string)}}}, nil
		}
		var s *demo.Server
		set := func(to string) {
			text.Store(to)
			s.SetResource(demo.Resource{URI: "a:b", Name: "b", Handle: read})
		}
		h := &restartable{make: func() *demo.Server {
			s = demo.New("changing", "1")
			set(text.Load().(string))
			return s
		}}
		told := make(chan string, 100)
		enough := errors.New("enough")
		w := &Watcher{URI: "a:b", Dial: h.dial, Tell: func(e WatchEvent) error {
			line := string(e.Kind)
			if e.Result != nil {
				line += " " + strings.Split(string(e.Result), `"text":`)[1]
			}
			told <- line
			if strings.Contains(line, "last") {
				return enough
			}
			return nil
		}}
		ended := make(chan error, 1)
		go func() { ended <- w.Watch(t.Context()) }()
		want := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for len(told) > 0 {
				got = append(got, <-told)
			}
			if got := strings.Join(got, "\n"); got != strings.Join(lines, "\n") {
				t.Errorf("got events\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
			}
		}
		want(`contents "one"}]}`)
		set("two")
		want(`contents "two"}]}`)
		s.Updated("a:b")
		want(`contents "two"}]}`)
		set("")
		want(`error`)
		set("two")
		want(`contents "two"}]}`)

		h.stop()
		want(`lost`)
		time.Sleep(watchMin)
		want(`back`) // the contents have not changed
		h.shut.Store(true)
		h.stop()
		want(`lost`)
		text.Store("three")
		time.Sleep(time.Hour)
		want()
		h.shut.Store(false)
		time.Sleep(watchMax)
		want(`back`, `contents "three"}]}`)
		time.Sleep(3 * watchPing)
		want()
		set("last")
		if err := <-ended; err != enough {
			t.Errorf("Watch = %v", err)
		}
	})
}

// Watch returns an error if, at the start, no gateway is reachable or the resource cannot be read, and when the context
// ends.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tell := func(WatchEvent) error { return nil }
		h := &restartable{make: demo.NewClock}
		err := (&Watcher{URI: "no:such", Dial: h.dial, Tell: tell}).Watch(t.Context())
		if rpc, ok := errors.AsType[*RPCError](err); !ok || rpc.Code != -32002 {
			t.Errorf("Watch = %v", err)
		}
		h.shut.Store(true)
		if err := (&Watcher{URI: "no:such", Dial: h.dial, Tell: tell}).Watch(t.Context()); !errors.Is(err, ErrUnreachable) {
			t.Errorf("Watch = %v", err)
		}
		h.shut.Store(false)
		enough := errors.New("enough")
		ctx, stop := context.WithCancelCause(t.Context())
		n := 0
		time.AfterFunc(5500*time.Millisecond, func() { stop(enough) })
		err = (&Watcher{URI: "clock://now", Dial: h.dial, Tell: func(WatchEvent) error { n++; return nil }}).Watch(ctx)
		if err != enough || n != 6 {
			t.Errorf("Watch = %v after %d contents", err, n)
		}
	})
}

// If the gateway refuses the watcher's key when it reconnects, Watch ends with that error.
func TestWatchEndsWithRevokedKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &RPCError{Code: -31011, Message: "the API key is not valid", Data: []byte(`{"code":"UNAUTHENTICATED"}`)}
		read := func(*demo.Call) (any, error) {
			return demo.ReadResult{Contents: []demo.ResourceText{{URI: "a:b", Text: "one"}}}, nil
		}
		h, dials, told := &restartable{make: func() *demo.Server {
			s := demo.New("steady", "1")
			s.SetResource(demo.Resource{URI: "a:b", Name: "b", Handle: read})
			return s
		}}, 0, []WatchKind{}
		w := &Watcher{URI: "a:b", Tell: func(e WatchEvent) error { told = append(told, e.Kind); return nil },
			Dial: func(ctx context.Context, o Options) (*Client, error) {
				if dials++; dials > 1 {
					return nil, fmt.Errorf("initialize: %w", refused)
				}
				return h.dial(ctx, o)
			}}
		ended := make(chan error, 1)
		go func() { ended <- w.Watch(t.Context()) }()
		synctest.Wait()
		h.stop()
		if err := <-ended; !errors.Is(err, refused) || dials != 2 {
			t.Errorf("after %d attempts: %v", dials, err)
		}
		if fmt.Sprint(told) != "[contents lost]" {
			t.Errorf("got events %v", told)
		}
	})
}
