package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/demo"
	"goblin-actor/protocol"
)

// over connects a client to a demo server over pipes. Both end with the test.
func over(t *testing.T, s *demo.Server, o Options) *Client {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- demo.ServeStdio(context.WithoutCancel(t.Context()), s, in, out, slog.New(slog.NewTextHandler(t.Output(), nil)))
		in.Close()
		out.Close()
	}()
	c, err := OverPipe(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-done
	})
	return c
}

func TestParseAddress(t *testing.T) {
	for _, c := range []struct{ in, want string }{ // want "" = an error
		{"", "http://127.0.0.1:8730/mcp"},
		{"9000", "http://127.0.0.1:9000/mcp"},
		{":9000", "http://127.0.0.1:9000/mcp"},
		{"box:9000", "http://box:9000/mcp"},
		{"[::1]:9000", "http://[::1]:9000/mcp"},
		{"http://box:9000", "http://box:9000/mcp"},
		{"http://box:9000/", "http://box:9000/mcp"},
		{"https://box/p/alpha/mcp", "https://box/p/alpha/mcp"},
		{"0", ""}, {"70000", ""}, {"box:port", ""}, {"ftp://box", ""}, {"http://", ""}, {"http://me:secret@box", ""},
		{"/run/x.sock", ""}, {"x.sock", ""}, {"http://a b", ""},
	} {
		got, err := ParseAddress(c.in)
		if c.want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("ParseAddress(%q) = %v, %v, want an error without secrets", c.in, got, err)
			}
		} else if err != nil || got.String() != c.want {
			t.Errorf("ParseAddress(%q) = %v, %v, want %s", c.in, got, err, c.want)
		}
	}
}

// A project is inserted into the path before /mcp. It is an error if the path does not end in /mcp, or already names a
// project or a server.
func TestEndpointOf(t *testing.T) {
	for _, c := range []struct{ in, project, want string }{
		{"9000", "", "http://127.0.0.1:9000/mcp"}, {"9000", "alpha", "http://127.0.0.1:9000/p/alpha/mcp"}, {"https://box/gw/mcp", "alpha", "https://box/gw/p/alpha/mcp"},
		{"http://box/p/beta/mcp", "alpha", ""}, {"http://box/s/files/mcp", "alpha", ""}, {"http://box/other", "alpha", ""}, {"http://box/p/beta/mcp", "", "http://box/p/beta/mcp"},
	} {
		got, err := EndpointOf(c.in, c.project)
		if c.want == "" && err == nil || c.want != "" && (err != nil || got.String() != c.want) {
			t.Errorf("EndpointOf(%q, %q) = %v, %v, want %q", c.in, c.project, got, err, c.want)
		}
	}
}

func TestMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := demo.NewNotes()
		s.PageSize = 1
		c := over(t, s, Options{})
		ctx := t.Context()
		for kind, want := range map[protocol.ItemKind]int{protocol.Tools: 4, protocol.Prompts: 1, protocol.Resources: 2, protocol.Templates: 1} {
			if items, err := c.List(ctx, kind); err != nil || len(items) != want {
				t.Errorf("List(%s) = %d items, %v, want %d", kind, len(items), err, want)
			}
		}
		if got, err := c.Call(ctx, "add_note", []byte("{\"title\":\"a\",\n\"text\":\"b\"}"), nil); err != nil || !strings.Contains(string(got), "note:///a") {
			t.Errorf("Call = %s, %v", got, err)
		}
		if got, err := c.Read(ctx, "note:///a"); err != nil || !strings.Contains(string(got), `"text":"# a\n\nb\n"`) {
			t.Errorf("Read = %s, %v", got, err)
		}
		if got, err := c.Prompt(ctx, "summarize_notes", []byte(`{"style":"brief"}`)); err != nil || !strings.Contains(string(got), "brief") {
			t.Errorf("Prompt = %s, %v", got, err)
		}
		_, err := c.Read(ctx, "note:///nope")
		if e, ok := errors.AsType[*RPCError](err); !ok || e.Code != -32002 || string(e.Data) != `{"uri":"note:///nope"}` {
			t.Errorf("Read of a missing note = %#v", err)
		}
		if _, err := c.Call(ctx, "add_note", []byte(`{"title":`), nil); err == nil {
			t.Error("invalid JSON arguments were sent")
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, demo.NewClock(), Options{})
		var seen []Progress
		_, err := c.Call(t.Context(), "wait", []byte(`{"seconds":2,"steps":2}`), func(p Progress) { seen = append(seen, p) })
		if err != nil || len(seen) != 2 || seen[1] != (Progress{2, 2, "step 2 of 2"}) {
			t.Errorf("%v, progress %v", err, seen)
		}
	})
}

// A call whose context ends is canceled at the server, and the session stays usable.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := demo.New("slow", "1")
		s.AddTool(demo.Tool{Name: "slow", Handle: func(c *demo.Call) (any, error) {
			<-c.Context.Done()
			ended <- context.Cause(c.Context)
			return nil, c.Context.Err()
		}})
		c := over(t, s, Options{})
		stopped := errors.New("enough")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { stop(stopped) })
		if _, err := c.Call(ctx, "slow", nil, nil); err != stopped {
			t.Errorf("Call = %v, want the context's cause", err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("the handler ended because %v", err)
		}
		if _, err := c.List(t.Context(), protocol.Tools); err != nil {
			t.Errorf("after the cancellation: %v", err)
		}
	})
}

func TestNotificationsAndQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := demo.NewClock()
		s.AddTool(demo.Tool{Name: "ask", Handle: func(c *demo.Call) (any, error) {
			pong, err := c.Ask("ping", struct{}{})
			if err != nil {
				return nil, err
			}
			_, err = c.Ask("roots/list", struct{}{})
			return demo.Text("%s %v", pong, err), nil
		}})
		heard := make(chan string, 10)
		c := over(t, s, Options{OnNotification: func(method string, params json.RawMessage) { heard <- method + string(params) }})
		c.Listen()
		if err := c.Subscribe(t.Context(), "clock://now"); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != `notifications/resources/updated{"uri":"clock://now"}` {
			t.Errorf("got notification %s", got)
		}
		got, err := c.Call(t.Context(), "ask", nil, nil)
		if err != nil || !strings.Contains(string(got), "{} this client does not answer requests (-32601)") {
			t.Errorf("ask = %s, %v", got, err)
		}
	})
}

// Pending requests fail when the connection ends, and nothing is sent after Close.
func TestRequestsFailWhenTheConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := over(t, demo.NewClock(), Options{})
		result := make(chan error)
		go func() {
			_, err := c.Call(t.Context(), "wait", []byte(`{"seconds":600}`), nil)
			result <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Errorf("pending call = %v, want ErrClosed", err)
		}
		if _, err := c.List(t.Context(), protocol.Tools); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close = %v, want ErrClosed", err)
		}
	})
}

// A hostile or broken server causes an error, not a hang.
func TestBadServers(t *testing.T) {
	for _, c := range []struct {
		name string
		says []string // one response for each line that it reads; then it closes the connection
		want string
	}{
		{"hangs up", nil, "not reachable"},
		{"garbage first", []string{"hello\n" + `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}`}, `uses protocol version "1999-01-01"`},
		{"error", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"go away"}}`}, "go away (-1)"},
		{"unreadable error", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"go away"}}`}, "an invalid error: code in the error is a string"},
		{"wrong id", []string{`{"jsonrpc":"2.0","id":7,"result":{}}`}, "connection closed"},
		{"says nothing", []string{""}, "connection closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, to := io.Pipe()
				from, out := io.Pipe()
				go func() {
					buffer := make([]byte, 4096)
					for _, line := range c.says {
						in.Read(buffer)
						io.WriteString(out, line+"\n")
					}
					time.Sleep(time.Second)
					in.Close()
					out.Close()
				}()
				client, err := OverPipe(t.Context(), from, to, Options{})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("OverPipe = %v, %v, want %q", client, err, c.want)
				}
				time.Sleep(2 * time.Second) // until the server has closed the connection
			})
		})
	}
}

// A handshake without a response fails after connectTime.
func TestNoHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		defer out.Close()
		go io.Copy(io.Discard, in)
		began := time.Now()
		if _, err := OverPipe(t.Context(), from, to, Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("OverPipe = %v", err)
		}
		if took := time.Since(began); took < connectTime || took > connectTime+closeGrace+time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// page returns an empty cursor like any other, takes null and a missing cursor as the end of the list, and rejects a
// list that is not an array.
func TestPage(t *testing.T) {
	for rest, want := range map[string]string{`,"nextCursor":""`: `""`, `,"nextCursor":"b"`: `"b"`, "": ""} {
		if next, err := page([]byte(`{"tools":[{"name":"a"}]`+rest+`}`), protocol.Tools, new([]protocol.Item)); err != nil || string(next) != want {
			t.Errorf("page with %s = %s, %v, want %s", rest, next, err, want)
		}
	}
	items := []protocol.Item{}
	next, err := page([]byte(`{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":null}`), protocol.Tools, &items)
	if err != nil || next != nil || len(items) != 2 {
		t.Errorf("page = %s, %v, %d items", next, err, len(items))
	}
	if _, err := page([]byte(`{"tools":7}`), protocol.Tools, &items); err == nil {
		t.Error("a list that is not an array was accepted")
	}
}

// A blocked progress callback (stderr is a full pipe, or the terminal is stopped with Ctrl-S) delays neither the
// cancellation of its call nor other calls.
func TestBlockedProgressCallback(t *testing.T) {
	c := over(t, demo.NewClock(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	entered, stuck, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	defer close(stuck)
	go func() {
		_, err := c.Call(ctx, "wait", []byte(`{"seconds":60,"steps":600}`), func(Progress) {
			close(entered)
			<-stuck
		})
		done <- err
	}()
	<-entered
	if _, err := c.Call(t.Context(), "wait", []byte(`{"seconds":0.2,"steps":2}`), func(Progress) {}); err != nil {
		t.Errorf("another call: %v", err)
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the canceled call: %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the canceled call did not return")
	}
}
