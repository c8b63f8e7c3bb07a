package downstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// stdioRun runs ServeStdio on pipes inside a bubble.
type stdioRun struct {
	in     *io.PipeWriter
	out    *bufio.Reader
	outEnd *io.PipeReader
	done   chan error
	cancel context.CancelFunc
}

func startStdio(t *testing.T, handler Handler, o Options) *stdioRun {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	run := &stdioRun{in: inWrite, out: bufio.NewReader(outRead), outEnd: outRead, done: make(chan error, 1), cancel: cancel}
	go func() {
		run.done <- ServeStdio(ctx, inRead, outWrite, handler, o, testLog(t))
		outWrite.Close()
	}()
	t.Cleanup(func() {
		cancel()
		inWrite.Close()
		outRead.Close()
		synctest.Wait()
	})
	return run
}

func (r *stdioRun) line(t *testing.T) string {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// call returns a request of the given size.
func call(id string, size int) string {
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"text":""}}`
	return strings.Replace(text, `""`, `"`+strings.Repeat("x", size-len(text))+`"`, 1)
}

// protocol.md S1: each line is a message. An invalid line is answered with an error, and the next line is read.
func TestStdioLines(t *testing.T) {
	const tooLarge = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Message too large","data":{"code":"MESSAGE_TOO_LARGE","server":null,"retryable":false}}}`
	tests := []struct {
		name, in string
		want     []string // "null -32700" means an error with that id and code
	}{
		{"request", ping, []string{pong}},
		{"CRLF", ping + "\r", []string{pong}},
		{"blank lines", "\n  \n\r\n" + ping, []string{pong}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + ping, []string{pong}},
		{"byte order mark", "\ufeff" + ping + "\n\ufeff" + ping, []string{pong, pong}},
		{"garbage", "hello\n" + ping, []string{"null -32700", pong}},
		{"not JSON-RPC", `{"a":1}` + "\n" + ping, []string{"null -32600", pong}},
		{"a request of another version", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, []string{"7 -32600"}},
		{"a request with wrong params", `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`, []string{"7 -32600"}},
		{"two ids", `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, []string{"null -32600"}},
		{"an id of an invalid type", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, []string{"null -32600"}},
		{"an answer with result and error", `{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`, []string{"null -32600"}},
		{"half a message", `{"jsonrpc":"2.0",` + "\n" + ping, []string{"null -32700", pong}},
		{"two on a line", ping + ping + "\n" + ping, []string{"null -32700", pong}},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n" + ping, []string{"null -32700", pong}},
		{"too long", strings.Repeat("x", 70<<10) + "\n" + ping, []string{tooLarge, pong}},
		{"a request that is too long", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"text":"` + strings.Repeat("x", 70<<10) + `"}}` + "\n" + ping, []string{`"a" -32600`, pong}},
		{"a request that is too long, id last", `{"method":"tools/call","params":{"text":"` + strings.Repeat("x", 200<<10) + `"},"jsonrpc":"2.0","id":7}` + "\n" + ping, []string{`7 -32600`, pong}},
		{"a request one byte too long", call("7", 60<<10+1), []string{`7 -32600`}},
		{"a notification that is too long", `{"jsonrpc":"2.0","method":"x","params":{"text":"` + strings.Repeat("x", 70<<10) + `","id":7}}` + "\n" + ping, []string{tooLarge, pong}},
		{"a request that is too deep", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}` + "\n" + ping, []string{`7 -32600`, pong}},
		{"as long as allowed", ping + strings.Repeat(" ", 60<<10-len(ping)), []string{pong}},
		{"one longer", ping + strings.Repeat(" ", 60<<10-len(ping)+1) + "\n" + ping, []string{"1 -32600", pong}},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, []string{`{"batch":1}`}},
	}
	for _, test := range tests {
		for _, end := range []string{"\n", ""} { // the last line may lack its ending
			synctest.Test(t, func(t *testing.T) {
				handler := handlerFunc{post: func(x *Exchange) {
					if x.Batch != nil {
						x.Answer(protocol.Message{Frame: []byte(`{"batch":1}`)})
						return
					}
					echo(x)
				}}
				run := startStdio(t, handler, Options{MaxMessageBytes: 60 << 10})
				go func() {
					io.WriteString(run.in, test.in+end)
					run.in.Close()
				}()
				for _, want := range test.want {
					got := run.line(t)
					if id, code, found := strings.Cut(want, " -3"); found {
						if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-3`+code) {
							t.Errorf("%s: got %s, want %s", test.name, got, want)
						}
					} else if got != want && want != tooLarge || want == tooLarge && !strings.Contains(got, "MESSAGE_TOO_LARGE") {
						t.Errorf("%s: got %.300s, want %.300s", test.name, got, want)
					}
				}
				if rest, _ := io.ReadAll(run.out); len(rest) > 0 {
					t.Errorf("%s: unexpected output %q", test.name, rest)
				}
				if err := <-run.done; err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			})
		}
	}
}

// The stream is opened before the first line is read. Answers, notifications and pushes are written in order.
func TestStdioOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream *EventStream
		handler := handlerFunc{
			open: func(s *EventStream) {
				stream = s
				s.Accept()
				s.Push(protocol.Message{Frame: note("first")}, WeightAnswer, "")
			},
			post: func(x *Exchange) {
				x.SetSession("ignored")
				x.Notify(protocol.Message{Frame: note("progress1")}, WeightLog, "")
				stream.Push(protocol.Message{Frame: []byte("{\n\"a\":1}"), Newline: true}, WeightAnswer, "")
				x.Notify(protocol.Message{Frame: note("progress2")}, WeightLog, "")
				echo(x)
				x.Answer(protocol.Message{Frame: []byte("late")})
				x.Notify(protocol.Message{Frame: note("late")}, WeightAnswer, "")
				x.Refuse(500, []byte("late"), 0)
				stream.Push(protocol.Message{Frame: note("last")}, WeightAnswer, "")
			},
		}
		run := startStdio(t, handler, Options{})
		synctest.Wait()
		io.WriteString(run.in, ping+"\n")
		for _, want := range []string{string(note("first")), string(note("progress1")), `{ "a":1}`, string(note("progress2")), pong, string(note("last"))} {
			if got := run.line(t); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if stream.Origin.Remote != "stdio" || stream.Origin.Path != "" {
			t.Errorf("origin: %+v", stream.Origin)
		}
		told := make(chan struct{})
		stream.OnGone(func() { close(told) })
		run.in.Close()
		<-told
		if err := <-run.done; err != nil {
			t.Error(err)
		}
		if !stream.Push(protocol.Message{Frame: note("x")}, WeightAnswer, "").Over {
			t.Error("Push succeeded after the end")
		}
	})
}

// After EOF, ServeStdio waits for running calls for a limited time. Calls that are still running then are ended as if
// the client had left.
func TestStdioEndOfInput(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		want  time.Duration
		gone  bool
	}{
		{"answered in time", 3 * time.Second, 3 * time.Second, false},
		{"too late", 10 * time.Second, 5 * time.Second, true},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			budget, gone := stream.NewBudget(1<<20), make(chan struct{})
			handler := handlerFunc{post: func(x *Exchange) {
				x.OnGone(func() { close(gone) })
				time.AfterFunc(test.after, func() { echo(x) })
			}}
			run, began := startStdio(t, handler, Options{Budget: budget}), time.Now()
			io.WriteString(run.in, ping+"\n")
			run.in.Close()
			rest, _ := io.ReadAll(run.out)
			if err := <-run.done; err != nil || time.Since(began) != test.want || (string(rest) == pong+"\n") == test.gone {
				t.Errorf("%s: got %v after %v, output %q", test.name, err, time.Since(began), rest)
			}
			select {
			case <-gone:
				if !test.gone {
					t.Errorf("%s: OnGone was called", test.name)
				}
			default:
				if test.gone {
					t.Errorf("%s: OnGone was not called", test.name)
				}
			}
			time.Sleep(time.Minute)
			if used := budget.Used(); used != 0 {
				t.Errorf("%s: the budget still counts %d bytes", test.name, used)
			}
		})
	}
}

func TestStdioEnds(t *testing.T) {
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run := startStdio(t, handlerFunc{post: echo}, Options{})
			run.cancel()
			if err := <-run.done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("stdout fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			gone := make(chan struct{})
			run := startStdio(t, handlerFunc{post: echo, open: func(s *EventStream) { s.OnGone(func() { close(gone) }) }}, Options{})
			run.outEnd.Close()
			io.WriteString(run.in, ping+"\n")
			if err := <-run.done; !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %v", err)
			}
			<-gone
		})
	})
	t.Run("stdout is not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			handler := handlerFunc{post: func(x *Exchange) {
				for i := range 100 {
					x.Notify(protocol.Message{Frame: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}, WeightState, itoa(i))
				}
			}}
			run := startStdio(t, handler, Options{MaxMessageBytes: 1 << 20})
			io.WriteString(run.in, ping+"\n")
			if err := <-run.done; !errors.Is(err, errStdoutStuck) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("panic", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run := startStdio(t, handlerFunc{post: func(_ *Exchange) { panic("boom") }}, Options{})
			io.WriteString(run.in, ping+"\n")
			if line := run.line(t); !strings.Contains(line, "INTERNAL_ERROR") {
				t.Errorf("got %s", line)
			}
		})
	})
	t.Run("budget", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			run := startStdio(t, handlerFunc{post: echo}, Options{Budget: stream.NewBudget(1000)})
			io.WriteString(run.in, `{"a":"`+strings.Repeat("x", 5000)+"\"}\n")
			if line := run.line(t); !strings.Contains(line, "OVERLOADED") {
				t.Errorf("got %s", line)
			}
			io.WriteString(run.in, ping+"\n")
			if line := run.line(t); line != pong {
				t.Errorf("got %s", line)
			}
		})
	})
}

// State messages of two exchanges with the same key do not replace each other.
func TestStdioStateByExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := handlerFunc{post: func(x *Exchange) {
			id := string(x.Frame.IDBytes())
			x.Notify(protocol.Message{Frame: note(id + "old")}, WeightState, "progress")
			x.Notify(protocol.Message{Frame: note(id + "new")}, WeightState, "progress")
		}}
		run := startStdio(t, handler, Options{})
		io.WriteString(run.in, ping+"\n"+strings.Replace(ping, `"id":1`, `"id":2`, 1)+"\n")
		synctest.Wait()
		seen := ""
		for !strings.Contains(seen, "1new") || !strings.Contains(seen, "2new") {
			seen += run.line(t)
		}
	})
}

func FuzzStdioLines(f *testing.F) {
	f.Add([]byte(ping + "\n" + ping))
	f.Add([]byte("[1]\n\x00\r\n{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out strings.Builder
		if err := ServeStdio(context.Background(), strings.NewReader(string(in)), &out, handlerFunc{post: echo}, Options{MaxMessageBytes: 1000}, testLog(t)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, `{"jsonrpc":"2.0",`) || !strings.HasSuffix(line, "}\n") {
				t.Fatalf("got %q in response to %q", line, in)
			}
		}
	})
}

// few is an Admission without authentication that admits a limited number of requests.
type few struct{ left int }

func (*few) ChecksAll() bool { return true }

func (*few) Anonymous() *identity.Principal { return identity.Local }

func (f *few) Admit(*Request) Admitted {
	if f.left--; f.left < 0 {
		return Admitted{Refusal: &Refusal{Status: 429, Fault: &protocol.Fault{Name: protocol.RateLimited, Message: "Too many requests", Retryable: true}}}
	}
	return Admitted{}
}

func (f *few) AdmitBatch(_ *identity.Principal, more int) *Refusal {
	var r *Refusal
	for range more {
		r = f.Admit(nil).Refusal
	}
	return r
}

// A rate limit also applies on stdin. It counts each message of a batch, but not messages that expect no response.
func TestStdioAdmission(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		notes := 0
		run := startStdio(t, handlerFunc{post: func(x *Exchange) {
			if x.Frame.Kind == protocol.KindNotification {
				notes++
			}
			echo(x)
		}}, Options{Admission: &few{left: 3}})
		go func() {
			io.WriteString(run.in, note+ping+"\n"+note+ping+"\n["+ping+","+ping+"]\n"+note+ping+"\n")
			run.in.Close()
		}()
		for _, want := range []string{pong, pong, `{"jsonrpc":"2.0","id":null,"error":{"code":-31014,`, `{"jsonrpc":"2.0","id":1,"error":{"code":-31014,`} {
			if got := run.line(t); !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if rest, _ := io.ReadAll(run.out); len(rest) > 0 {
			t.Errorf("unexpected output %q", rest)
		}
		if <-run.done; notes != 3 {
			t.Errorf("%d notifications were handled, want 3", notes)
		}
	})
}
