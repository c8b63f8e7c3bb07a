package backend

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream/pipe"
)

// A legacy client's call and its response are translated for a modern server.
func TestLegacyCallToAModernServer(t *testing.T) {
	for _, http := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{HTTP: http, Tools: []string{"add"}, Handle: func(g actortest.Message) {
				g.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1}`, g.ID()))
				g.Result(`{"resultType":"complete","content":[{"type":"text","text":"3"}],"structuredContent":[1,2],"_meta":{"x":1}}`)
			}}
			b := modern(t, server)
			defer b.stop()
			b.call(7, legacyRequest(t, message.CanForm|message.CanURL))
			sent := server.Received("tools/call")[0]
			id := string(sent.ID())
			want := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}},"io.modelcontextprotocol/clientInfo":{"name":"old","version":"1"},` +
				`"io.modelcontextprotocol/logLevel":"info","progressToken":` + id + `},"name":"add","arguments":{"a":9007199254740993}},"future":[1.0]}`
			if got := string(sent.Frame.Raw); got != want {
				t.Errorf("server got\n%s, want\n%s", got, want)
			}
			if sent.Out.Method != "tools/call" || sent.Out.Name != "add" {
				t.Errorf("headers %q %q", sent.Out.Method, sent.Out.Name)
			}
			var kinds []string
			for _, msg := range b.holder.Got() {
				kinds = append(kinds, fmt.Sprintf("%T", msg))
				if m, ok := msg.(message.Done); ok {
					want := `{"content":[{"type":"text","text":"3"},{"type":"text","text":"[1,2]"}],"_meta":{"x":1}}`
					if got := string(m.Frame.ResultBytes()); got != want {
						t.Errorf("result\n%s, want\n%s", got, want)
					}
				}
			}
			if want := []string{"message.RequestWritten", "message.Progress", "message.Done"}; !slices.Equal(kinds, want) {
				t.Errorf("holder got %v, want %v", kinds, want)
			}
		})
	}
}

// A modern client's call to a modern server keeps the client's _meta, and the result is unchanged.
func TestModernCallToAModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{}}},"requestState":"s1"}`
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}, Handle: func(g actortest.Message) { g.Result(result) }}
		b := modern(t, server)
		defer b.stop()
		b.call(1, modernRequest(t, `,"inputResponses":{"k":{"action":"accept"}},"requestState":"s0"`))
		sent := server.Received("tools/call")[0]
		got := string(sent.Frame.Raw)
		for _, want := range []string{`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"x":1}`, `"requestState":"s0"`, `"inputResponses":{"k":{"action":"accept"}}`,
			`"vendor/k":2`, `"name":"add"`, `"progressToken":` + string(sent.ID())} {
			if !strings.Contains(got, want) {
				t.Errorf("server got %s\nwithout %s", got, want)
			}
		}
		if strings.Contains(got, "logLevel") {
			t.Errorf("server got %s, although the client did not request log messages", got)
		}
		if ends, _ := b.outcomes(); !slices.Equal(ends, []string{"1 " + result}) {
			t.Errorf("holder got %v, want the unchanged input_required result", ends)
		}
	})
}

// Members of the modern era are removed from a modern client's request to a legacy server, and error codes are translated.
func TestModernCallToALegacyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
			_ = p.Send(protocol.AppendError(nil, id, -32002, "Resource not found", []byte(`{"uri":"file:///x"}`)))
		}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		b.call(1, modernRequest(t, `,"inputResponses":{}`))
		got := string(server.Received("tools/call")[0].Raw)
		if strings.Contains(got, "io.modelcontextprotocol/") || strings.Contains(got, "inputResponses") || !strings.Contains(got, `"vendor/k":2`) {
			t.Errorf("server got %s", got)
		}
		read := modernRequest(t, "")
		read.Frame, read.Target = protocol.Frame{}, rawjson.Span{}
		read.Frame, read.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"resource://fake/file:///x","_meta":{}}}`)
		b.call(2, read)
		ends, _ := b.outcomes()
		if len(ends) != 2 || !strings.Contains(ends[0], "-32603") || !strings.Contains(ends[1], `"code":-32602`) || !strings.Contains(ends[1], "resource://fake/file:///x") {
			t.Errorf("holder got %v, want -32603 for the tool and -32602 with the client's own URI for the resource", ends)
		}
	})
}

// A server of both eras may use the modern code for a missing capability in a legacy session, too.
func TestLegacyServerRequiresACapability(t *testing.T) {
	for data, want := range map[string]string{`{"requiredCapabilities":{"sampling":{}}}`: "-32021", `{"requiredCapabilities":["sampling"]}`: "-32603", `1`: "-32603"} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Server{Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
				_ = p.Send(protocol.AppendError(nil, id, -32021, "sampling", []byte(data)))
			}}
			b := start(t, server, cfg())
			defer b.stop()
			synctest.Wait()
			b.call(1, modernRequest(t, ""))
			if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], `"code":`+want) {
				t.Errorf("%s: holder got %v, want %s", data, ends, want)
			}
		})
	}
}

// go-sdk sends input_required results to legacy clients, so a modern client's answers are also sent to a legacy server.
func TestAnswersWithTheStateOfALegacyServer(t *testing.T) {
	r := modernRequest(t, `,"requestState":"inner","inputResponses":{"k":{"action":"accept"}}`)
	s := newState(Options{Server: cfg()}, kernel.Reference{}, new(uint64))
	s.conn.era = protocol.EraLegacy
	got := string(s.upstream(r, 5, nil))
	if !strings.Contains(got, `"requestState":"inner"`) || !strings.Contains(got, `"inputResponses":{"k"`) || strings.Contains(got, "clientCapabilities") {
		t.Errorf("frame %s, want the answers and the state, without client capabilities", got)
	}
}

// An invalid response of a modern server fails only its own call, with a clear error.
func TestInvalidResponsesOfAModernServer(t *testing.T) {
	prompt := `{"jsonrpc":"2.0","id":9,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}}}`
	tests := []struct{ name, frame, result, want string }{
		{"unknown type", callFrame, `{"resultType":"baroque"}`, "INTERNAL_ERROR the server's result has an unknown resultType"},
		{"input_required to completion", prompt, `{"resultType":"input_required","requestState":"s"}`, "not allowed for completion/complete"},
		{"input_required without questions and state", callFrame, `{"resultType":"input_required"}`, "INTERNAL_ERROR"},
		{"a task without id", callFrame, `{"resultType":"task","taskId":""}`, "a task whose id is missing"},
		{"a task for a method without tasks", prompt, `{"resultType":"task","taskId":"1"}`, "not allowed for completion/complete"},
		{"undeclared question", callFrame, `{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{}}}}`, "the client does not support"},
		{"unknown question", callFrame, `{"resultType":"input_required","inputRequests":{"k":{"method":"tools/list"}}}`, "the client does not support"},
		{"malformed questions", callFrame, `{"resultType":"input_required","inputRequests":{"k":7}}`, "are invalid"},
		{"a requestState that is not a string", callFrame, `{"resultType":"input_required","inputRequests":{},"requestState":{"a":1}}`, "not a string"},
		{"not an object", callFrame, `[]`, "sent an invalid result"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Modern{Handle: func(g actortest.Message) { g.Result(test.result) }, HandleOther: func(g actortest.Message) bool {
					if g.Frame.Method != protocol.MethodInitialize {
						g.Result(test.result)
					}
					return g.Frame.Method != protocol.MethodInitialize
				}}
				b := modern(t, server)
				defer b.stop()
				r := request(t, test.frame)
				r.Target, r.Caller.Can = rawjson.Span{}, message.CanForm
				b.call(1, r)
				ends, asks := b.outcomes()
				if len(ends) != 1 || len(asks) != 0 || !strings.Contains(ends[0], test.want) {
					t.Errorf("holder got %v and %d questions, want one fault: %s", ends, len(asks), test.want)
				}
				if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
					t.Errorf("pool got %d CallEnded, want 1", n)
				}
			})
		})
	}
}

// Annotated arguments of a tool are also sent as HTTP headers. MCP 2026-07-28, basic/transports/streamable-http, custom
// headers.
func TestHeadersFromArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		annotated := func(header string) string {
			return `{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"` + header + `"}}}}`
		}
		server := &actortest.Modern{HTTP: true, Tools: []string{`{"name":"add","inputSchema":{"type":"object"}}`, `{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"N"}}}}`}}
		server.Handle = func(g actortest.Message) {
			if len(g.Out.Headers) == 0 {
				g.Error(-32020, "Header mismatch: Mcp-Param-Count is missing", "")
				return
			}
			g.Result(`{"resultType":"complete","content":[]}`)
		}
		b := startOn(t, Options{Server: auto(), Open: server.Open, Transport: "http", Catalog: true})
		defer b.stop()
		synctest.Wait()
		for _, l := range actortest.Of[message.Listed](b.pool) {
			if l.Kind == protocol.Tools && len(l.Items) != 1 {
				t.Errorf("%d tools listed, want the one whose annotations are valid", len(l.Items))
			}
		}
		r := func() *message.Request {
			r := request(t, strings.Replace(callFrame, "9007199254740993", "42", 1))
			r.Item = "add"
			return r
		}
		b.call(1, r()) // without an annotation, the call fails after the tools have been listed again
		if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "Header mismatch") {
			t.Fatalf("holder got %v, want a fault", ends)
		}
		if n := len(server.Received("tools/call")); n != 2 {
			t.Fatalf("%d calls reached the server, want 2", n)
		}
		server.SetTools(annotated("Count")) // not announced: there is no stream
		b.call(2, r())
		if ends, _ := b.outcomes(); len(ends) != 1 || ends[0] != `2 {"content":[]}` {
			t.Fatalf("holder got %v, want the result after the tools were listed again", ends)
		}
		calls := server.Received("tools/call")
		last := calls[len(calls)-1].Out
		if len(last.Headers) != 1 || last.Headers[0] != (protocol.HeaderField{Name: "Mcp-Param-Count", Value: "42"}) {
			t.Errorf("headers %v, want only Mcp-Param-Count: 42", last.Headers)
		}
	})
}

// A modern call is canceled at the link, which closes the response over HTTP. Over stdio, a notification is sent, too.
func TestCancelInTheModernEra(t *testing.T) {
	for _, http := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{HTTP: http, Handle: func(actortest.Message) {}}
			b := modern(t, server)
			defer b.stop()
			b.call(1, legacyRequest(t, 0))
			b.backend.Tell(message.CancelSent{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}, Reason: "enough"})
			synctest.Wait()
			id := server.Received("tools/call")[0].Out.Ticket
			if closed := slices.Contains(server.Last().Canceled(), id); !closed {
				t.Error("the response was not closed")
			}
			if n := len(server.Received("notifications/cancelled")); n != map[bool]int{true: 0, false: 1}[http] {
				t.Errorf("http %v: %d notifications/cancelled", http, n)
			}
			if n := len(actortest.Of[message.CallEnded](b.pool)); n != 1 {
				t.Errorf("pool got %d CallEnded, want 1", n)
			}
		})
	}
}

// Log messages are forwarded to legacy calls, and to modern calls that requested them. MCP 2026-07-28,
// server/utilities/logging.
func TestLogMessagesOfAModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Handle: func(g actortest.Message) {
			g.Notify("notifications/message", `{"level":"info","data":"x"}`)
			g.Result(`{"resultType":"complete","content":[]}`)
		}}
		b := modern(t, server)
		defer b.stop()
		b.call(1, modernRequest(t, ""))
		asked := modernRequest(t, "")
		asked.Caller.LogLevel = "debug"
		b.call(2, asked)
		b.call(3, legacyRequest(t, 0))
		var got []uint64
		for _, m := range actortest.Of[message.Log](b.holder) {
			got = append(got, m.Seq)
		}
		if !slices.Equal(got, []uint64{2, 3}) {
			t.Errorf("log messages for calls %v, want 2, which requested them, and 3, whose client filters", got)
		}
	})
}

// A list is fetched again when it is stale, unless the server announces changes.
func TestStaleLists(t *testing.T) {
	for _, tells := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &actortest.Modern{Tools: []string{"a"}, TTL: 60_000, ListChanged: tells}
			b := modern(t, server)
			defer b.stop()
			b.pool.Got()
			before := len(server.Received("tools/list"))
			time.Sleep(time.Minute - 1)
			synctest.Wait()
			if n := len(server.Received("tools/list")); n != before {
				t.Fatalf("%d further fetches while the list was fresh", n-before)
			}
			time.Sleep(6*time.Second + 1)
			synctest.Wait()
			again := len(server.Received("tools/list")) - before
			if tells != (again == 0) {
				t.Errorf("server announces changes %v: %d further fetches", tells, again)
			}
			for _, l := range actortest.Of[message.Listed](b.pool) {
				if l.Announced {
					t.Error("a list that was fetched because of its age counts as announced")
				}
			}
		})
	}
}

// After a response that is unusual for a modern server, server/discover is sent. Its response shows whether the server was
// replaced by a legacy one.
func TestServerBecomesLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
		b := modern(t, server)
		defer b.stop()
		time.Sleep(steadyTime)
		server.Handle = func(g actortest.Message) { httpStatus(404)(g) }
		b.call(1, legacyRequest(t, 0)) // a modern server may answer this, too: it gets server/discover and stays modern
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 || len(b.phases()) != 0 || len(server.Received("server/discover")) != 2 {
			t.Fatalf("outcomes %v, %d server/discover", ends, len(server.Received("server/discover")))
		}
		server.Discover, server.HandleOther = httpStatus(404), initializes
		b.call(2, legacyRequest(t, 0))
		time.Sleep(2 * openingTime)
		synctest.Wait()
		changes := actortest.Of[message.BackendChanged](b.pool)
		if last := changes[len(changes)-1]; last.Phase != message.Ready || last.Known.Era != protocol.EraLegacy {
			t.Errorf("last change %+v, want ready in the legacy era", last)
		}
	})
}

// All capabilities that a legacy client declares are sent to a modern server with each request.
func TestCapabilitiesOfALegacyClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{Tools: []string{"add"}}
		b := modern(t, server)
		defer b.stop()
		r := legacyRequest(t, message.CanForm)
		r.Caller.Extras = message.ExtrasOf([]byte(`{"experimental":{"v/x":{"a":1}},"extensions":{"v/y":{}}}`))
		b.call(1, r)
		want := `"io.modelcontextprotocol/clientCapabilities":{"experimental":{"v/x":{"a":1}},"extensions":{"v/y":{}},"elicitation":{"form":{}}}`
		if raw := string(server.Received("tools/call")[0].Frame.Raw); !strings.Contains(raw, want) {
			t.Errorf("sent %s, want %s in it", raw, want)
		}
	})
}

// A requestState from a modern connection must not be sent on a legacy one, which does not know it and would execute the
// call again.
func TestStateOfTheOtherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Server{Tools: []string{"add"}}
		b := start(t, server, cfg())
		defer b.stop()
		synctest.Wait()
		r := request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fake_add","arguments":{},"requestState":"theirs","inputResponses":{"a":{"action":"accept"}}}}`)
		r.Modern = true
		b.backend.Tell(message.Send{Call: message.CallRef{Holder: b.holder.Reference, Seq: 1}, Request: r})
		synctest.Wait()
		failed := actortest.Of[message.Failed](b.holder)
		if n := len(server.Received("tools/call")); n != 0 || len(failed) != 1 || failed[0].Fault.Name != protocol.ServerUnavailable {
			t.Errorf("%d calls reached the server; failures %+v", n, failed)
		}
		if ended := actortest.Of[message.CallEnded](b.pool); len(ended) != 1 {
			t.Errorf("pool got %v, want one CallEnded", ended)
		}
	})
}
