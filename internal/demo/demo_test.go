package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// talk is a client of a demo server over pipes, for tests in a synctest bubble.
type talk struct {
	t     *testing.T
	to    io.WriteCloser
	lines chan string
	done  chan error
	next  int
}

func serve(t *testing.T, s *Server) *talk {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &talk{t: t, to: to, lines: make(chan string, 100), done: make(chan error, 1)}
	go func() {
		err := ServeStdio(t.Context(), s, in, out, slog.New(slog.NewTextHandler(t.Output(), nil)))
		out.Close()
		c.done <- err
	}()
	go func() {
		defer close(c.lines)
		for r := bufio.NewScanner(from); r.Scan(); {
			c.lines <- r.Text()
		}
	}()
	return c
}

// start initializes the session and returns the result.
func (c *talk) start(version string) string {
	got := c.ask("initialize", `{"protocolVersion":"`+version+`","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return got
}

func (c *talk) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.to, line+"\n"); err != nil {
		c.t.Fatalf("send %s: %v", line, err)
	}
}

// post sends a request and returns its id.
func (c *talk) post(method, params string) int {
	c.next++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.next, method, params))
	return c.next
}

// ask sends a request and returns its answer. It drops messages before the answer.
func (c *talk) ask(method, params string) string {
	c.t.Helper()
	id := c.post(method, params)
	for line := range c.lines {
		if strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"`, id)) {
			return line
		}
	}
	c.t.Fatalf("%s: no answer", method)
	return ""
}

// waiting returns the lines received once all goroutines are blocked.
func (c *talk) waiting() []string {
	synctest.Wait()
	var lines []string
	for {
		select {
		case line := <-c.lines:
			lines = append(lines, line)
		default:
			return lines
		}
	}
}

// end closes the server's stdin and waits until the server has ended.
func (c *talk) end() {
	c.t.Helper()
	c.to.Close()
	if err := <-c.done; err != nil {
		c.t.Errorf("ServeStdio = %v, want nil", err)
	}
	for range c.lines {
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d lines %q, want %d", len(got), got, len(want))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d = %s, want %s in it", i, got[i], want[i])
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct{ forced, asked, want string }{
		{"", "2024-11-05", "2024-11-05"},
		{"", "2025-03-26", "2025-03-26"},
		{"", "2025-06-18", "2025-06-18"},
		{"", "2025-11-25", "2025-11-25"},
		{"", "2030-01-01", "2025-11-25"},
		{"2024-11-05", "2025-11-25", "2024-11-05"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewClock()
			s.Protocol = c.forced
			d := serve(t, s)
			defer d.end()
			if got := d.start(c.asked); !strings.Contains(got, `"protocolVersion":"`+c.want+`"`) {
				t.Errorf("forced version %q, requested %q: got %s, want %s", c.forced, c.asked, got, c.want)
			}
			tools := d.ask("tools/list", `{}`)
			if titled := strings.Contains(tools, `"title"`); titled != (c.want >= "2025-06-18") {
				t.Errorf("%s: titles %v in %s", c.want, titled, tools)
			}
			now := d.ask("tools/call", `{"name":"now"}`)
			if structured := strings.Contains(now, `"structuredContent"`); structured != (c.want >= "2025-06-18") {
				t.Errorf("%s: structuredContent %v in %s", c.want, structured, now)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"ping", `{}`, `"result":{}`},
		{"tools/call", `{"name":"nope"}`, `"error":{"code":-32602,"message":"Unknown tool: nope"}`},
		{"tools/call", `{}`, `"error":{"code":-32602`},
		{"tools/call", `{"name":"edit_note","arguments":{"slug":"nope","text":""}}`, `no note \"nope\"; there are: groceries, welcome"}],"isError":true}`},
		{"tools/call", `{"name":"add_note","arguments":{"title":"","text":""}}`, `"isError":true`},
		{"tools/call", `{"name":"add_note","arguments":{"title":"a","text":"b","colour":1}}`, `"isError":true`},
		{"tools/call", `{"name":"search_notes","arguments":{"query":"LANTERN"}}`, `"structuredContent":{"slugs":["groceries"]}`},
		{"tools/call", `{"name":"search_notes","arguments":{"query":"xyzzy"}}`, `nothing found`},
		{"resources/read", `{"uri":"note:///welcome"}`, `"text":"# Welcome\n\n`},
		{"resources/read", `{"uri":"note:///nope"}`, `"error":{"code":-32002,"message":"Resource not found: note:///nope","data":{"uri":"note:///nope"}}`},
		{"resources/subscribe", `{"uri":"note:///nope"}`, `"code":-32002`},
		{"resources/subscribe", `{"uri":"note:///welcome"}`, `"result":{}`},
		{"resources/unsubscribe", `{"uri":"note:///welcome"}`, `"result":{}`},
		{"resources/templates/list", `{}`, `"uriTemplate":"note:///{slug}"`},
		{"prompts/list", `{}`, `"name":"summarize_notes"`},
		{"prompts/get", `{"name":"summarize_notes","arguments":{"style":"rhyming"}}`, `in a rhyming style`},
		{"prompts/get", `{"name":"summarize_notes","arguments":{"style":7}}`, `"code":-32602`},
		{"prompts/get", `{"name":"nope"}`, `"code":-32602`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"note:///{slug}"},"argument":{"name":"slug","value":"w"}}`, `"values":["welcome"]`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"summarize_notes"},"argument":{"name":"style","value":""}}`, `"values":["brief","detailed","rhyming"]`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"style","value":""}}`, `"code":-32602`},
		{"completion/complete", `{"argument":{"name":"style","value":""}}`, `"code":-32602`},
		{"logging/setLevel", `{"level":"warning"}`, `"result":{}`},
		{"logging/setLevel", `{"level":"loud"}`, `"code":-32602`},
		{"resources/list", `{"cursor":"%%%"}`, `"code":-32602`},
		{"server/discover", `{}`, `"code":-32602`},
		{"no/such/method", `{}`, `"code":-32601`},
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, `"code":-32600`},
	} {
		t.Run(c.method+" "+c.params, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := serve(t, NewNotes())
				defer d.end()
				d.start("2025-11-25")
				if got := d.ask(c.method, c.params); !strings.Contains(got, c.want) {
					t.Errorf("%s %s = %s, want %s in it", c.method, c.params, got, c.want)
				}
			})
		})
	}
}

func TestBeforeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewNotes()
		s.Protocol = "2025-11-25" // otherwise server/discover would be answered
		d := serve(t, s)
		defer d.end()
		for _, c := range []struct{ method, want string }{
			{"ping", `"result":{}`}, {"server/discover", `-32601`}, {"tools/list", `-32600`},
		} {
			if got := d.ask(c.method, "{}"); !strings.Contains(got, c.want) {
				t.Errorf("%s = %s, want %s", c.method, got, c.want)
			}
		}
	})
}

// Pages contain every item exactly once, even if notes change between pages. S0.1.2
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewNotes()
		s.PageSize = 2
		d := serve(t, s)
		defer d.end()
		d.start("2025-11-25")
		for i := range 5 {
			d.ask("tools/call", fmt.Sprintf(`{"name":"add_note","arguments":{"title":"n%d","text":""}}`, i))
		}
		var uris []string
		cursor, pages := "", 0
		for {
			params := "{}"
			if cursor != "" {
				params = fmt.Sprintf(`{"cursor":%q}`, cursor)
			}
			var answer struct {
				Result struct {
					Resources  []Resource
					NextCursor string
				}
			}
			if err := json.Unmarshal([]byte(d.ask("resources/list", params)), &answer); err != nil {
				t.Fatal(err)
			}
			for _, r := range answer.Result.Resources {
				uris = append(uris, r.Name)
			}
			if pages++; pages == 1 {
				d.ask("tools/call", `{"name":"delete_note","arguments":{"slug":"n0"}}`) // the note that the cursor refers to
			}
			if cursor = answer.Result.NextCursor; cursor == "" {
				break
			}
		}
		if got := strings.Join(uris, " "); got != "groceries n0 n1 n2 n3 n4 welcome" || pages != 4 {
			t.Errorf("got %d pages: %s", pages, got)
		}
	})
}

func TestNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewNotes())
		defer d.end()
		d.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		for range 2 {
			d.ask("tools/call", `{"name":"add_note","arguments":{"title":"early","text":""}}`)
		}
		wantLines(t, d.waiting()) // no notification before the client is ready
		d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		wantLines(t, d.waiting(), `notifications/resources/list_changed`) // two changes, one notification

		edit := `{"name":"edit_note","arguments":{"slug":"welcome","text":"new"}}`
		d.ask("tools/call", edit)
		wantLines(t, d.waiting()) // no notification without a subscription
		d.ask("resources/subscribe", `{"uri":"note:///welcome"}`)
		d.post("tools/call", edit)
		wantLines(t, d.waiting(), `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note:///welcome"}}`, `edited`)
		d.ask("resources/unsubscribe", `{"uri":"note:///welcome"}`)
		d.ask("tools/call", edit)
		wantLines(t, d.waiting())
	})
}

func TestClockTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewClock())
		defer d.end()
		d.start("2025-11-25")
		d.ask("resources/subscribe", `{"uri":"clock://now"}`)
		d.waiting()
		for range 3 {
			time.Sleep(time.Second)
			wantLines(t, d.waiting(), `"uri":"clock://now"`)
		}
	})
}

func TestProgressAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewClock())
		defer d.end()
		d.start("2025-11-25")
		d.post("tools/call", `{"name":"wait","arguments":{"seconds":2,"steps":2},"_meta":{"progressToken":"p"}}`)
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), `"params":{"progressToken":"p","progress":1,"total":2,"message":"step 1 of 2"}`)
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), `"progress":2`, `waited 2 seconds in 2 steps`)

		id := d.post("tools/call", `{"name":"wait","arguments":{"seconds":60}}`)
		time.Sleep(time.Second)
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		time.Sleep(2 * time.Minute)
		wantLines(t, d.waiting()) // MCP 2025-11-25, basic/utilities/cancellation: no answer
	})
}

// A handler can log and ask. The client receives log messages at its level or above.
func TestLogAndAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New("asker", "1")
		s.AddTool(Tool{Name: "ask", Handle: func(c *Call) (any, error) {
			c.Log("info", "asker", "too quiet")
			c.Log("error", "asker", map[string]int{"n": 1})
			answer, err := c.Ask("roots/list", struct{}{})
			if err != nil {
				return nil, err
			}
			return Text("%s %s", c.Client(), answer), nil
		}})
		d := serve(t, s)
		defer d.end()
		d.start("2025-11-25")
		d.ask("logging/setLevel", `{"level":"error"}`)
		d.post("tools/call", `{"name":"ask"}`)
		wantLines(t, d.waiting(), `"params":{"data":{"n":1},"level":"error","logger":"asker"}`, `"id":1,"method":"roots/list"`)
		d.send(`{"jsonrpc":"2.0","id":77,"result":{}}`) // answers no open request
		d.send(`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)
		wantLines(t, d.waiting(), `{\"roots\":{}} {\"roots\":[]}`)

		d.post("tools/call", `{"name":"ask"}`)
		d.waiting()
		d.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`)
		wantLines(t, d.waiting(), `"error":{"code":-1,"message":"no"}`)
	})
}

// At the end of stdin the server ends, even if requests are still running.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewClock())
		d.start("2025-11-25")
		d.post("tools/call", `{"name":"wait","arguments":{"seconds":600}}`)
		synctest.Wait()
		began := time.Now()
		d.end()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
