package backend

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// A modern server that was replaced by a legacy one may answer with an error that modern servers do not use, such as the
// TypeScript server's error for requests without a session.
func TestErrorShowsThatTheServerIsLegacy(t *testing.T) {
	for _, c := range []struct {
		name         string
		status, code int
		id           string // "" = the request's own
		asked, goes  bool   // server/discover is sent; the era changes
	}{
		{"not initialized", 400, -32000, "", true, true},
		{"not initialized, but modern when asked", 400, -32000, "", true, false},
		{"wrong params", 400, -32602, "", false, false},
		{"no such method", 404, -32601, "", false, false},
		{"an error of the tool", 200, -32000, "", false, false},
		{"Missing session ID, from the Python SDK", 400, -32600, `"server-error"`, true, true},
		{"a bad gateway that speaks JSON-RPC", 502, -32000, `"server-error"`, false, false},
		{"no session, without id", 400, -32000, "null", true, true},
		{"a status that only this SDK uses", 422, -32600, "null", true, true},
		{"response to another request", 200, -32000, `"x"`, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
				b := modern(t, server)
				defer b.stop()
				time.Sleep(steadyTime)
				before := len(server.Received("server/discover"))
				refuse := func(g actortest.Message) bool {
					var f protocol.Frame
					id := g.ID()
					if c.id != "" {
						id = []byte(c.id)
					}
					if err := f.Parse(protocol.AppendError(nil, id, c.code, "Bad Request", nil)); err != nil {
						t.Error(err)
					}
					_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Status: c.status})
					return true
				}
				server.Handle = func(g actortest.Message) { refuse(g) }
				if c.goes {
					server.Discover, server.HandleOther = refuse, initializes
				}
				b.call(1, legacyRequest(t, 0))
				if ends, _ := b.outcomes(); len(ends) != 1 || !strings.Contains(ends[0], "Bad Request") && c.status != 200 {
					t.Errorf("outcome %v, want the server's error", ends)
				}
				time.Sleep(2 * openingTime)
				synctest.Wait()
				if asked := len(server.Received("server/discover")) > before; asked != c.asked {
					t.Errorf("server/discover sent: %v, want %v", asked, c.asked)
				}
				changes := actortest.Of[message.BackendChanged](b.pool)
				if goes := len(changes) > 0 && changes[len(changes)-1].Known.Era == protocol.EraLegacy; goes != c.goes {
					t.Errorf("changes %+v; want legacy: %v", changes, c.goes)
				}
			})
		})
	}
}

// A modern server that has replaced a legacy one refuses the version, and the era changes.
func TestServerBecomesModern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{HTTP: true, Tools: []string{"add"}, Discover: httpStatus(404), HandleOther: initializes}
		b := startOn(t, Options{Server: auto(), Open: server.Open, Transport: "http", Catalog: true})
		defer b.stop()
		time.Sleep(steadyTime + 2*openingTime)
		if p := b.phases(); len(p) == 0 || p[len(p)-1] != message.Ready {
			t.Fatalf("phases %v, want ready", p)
		}
		server.Discover, server.HandleOther = nil, nil
		server.Handle = func(g actortest.Message) {
			g.Error(-32022, "Unsupported protocol version", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		}
		b.call(1, legacyRequest(t, 0))
		time.Sleep(2 * openingTime)
		synctest.Wait()
		if ends, _ := b.outcomes(); len(ends) != 1 {
			t.Errorf("outcomes %v, want one", ends)
		}
		changes := actortest.Of[message.BackendChanged](b.pool)
		if len(changes) == 0 || changes[len(changes)-1].Phase != message.Ready || changes[len(changes)-1].Known.Era != protocol.EraModern {
			t.Errorf("changes %+v, want ready in the modern era", changes)
		}
	})
}

// Only a definite response changes the era. A server that is overloaded, broken or does not answer keeps its connection and
// its era.
func TestOutageDoesNotChangeTheEra(t *testing.T) {
	says := func(status, code int, data string) func(actortest.Message) bool {
		return func(g actortest.Message) bool {
			var f protocol.Frame
			if err := f.Parse(protocol.AppendError(nil, g.ID(), code, "no", []byte(data))); err != nil {
				t.Error(err)
			}
			_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Status: status})
			return true
		}
	}
	ends := func(err error) func(actortest.Message) bool {
		return func(g actortest.Message) bool {
			_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: err})
			return true
		}
	}
	for _, c := range []struct {
		name  string
		says  func(actortest.Message) bool // response to server/discover
		stays bool
	}{
		{"502", httpStatus(502), true},
		{"429", httpStatus(429), true},
		{"401", httpStatus(401), true},
		{"no response in time", func(actortest.Message) bool { return true }, true},
		{"a response that ends without an answer", ends(upstream.ErrNoAnswer), true},
		{"503 as JSON", says(503, -32000, `null`), true},
		{"an internal error", says(200, codeInternal, `null`), true},
		{"an error that only modern servers have", says(400, codeHeaderMismatch, `null`), true},
		{"modern versions", says(400, codeUnsupportedVersion, `{"supported":["2026-07-28"]}`), true},
		{"legacy versions", says(400, codeUnsupportedVersion, `{"supported":["2025-11-25"]}`), false},
		{"no such method", says(200, codeNoMethod, `null`), false},
		{"400 as JSON", says(400, codeInternal, `null`), false},
		{"404", httpStatus(404), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &actortest.Modern{HTTP: true, Tools: []string{"add"}}
				b := modern(t, server)
				defer b.stop()
				time.Sleep(steadyTime)
				b.phases()
				opened, asked := server.Opened(), len(server.Received("server/discover"))
				server.Handle, server.Discover = func(g actortest.Message) { httpStatus(404)(g) }, c.says
				b.call(1, legacyRequest(t, 0))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if stays := server.Opened() == opened && len(b.phases()) == 0; stays != c.stays || len(server.Received("server/discover")) == asked {
					t.Fatalf("%d connections; want it to stay modern: %v", server.Opened(), c.stays)
				}
				if !c.stays {
					return
				}
				asked = len(server.Received("server/discover"))
				b.call(2, legacyRequest(t, 0))
				if n := len(server.Received("server/discover")); n != asked+1 {
					t.Errorf("the next call causes %d server/discover, want 1", n-asked)
				}
			})
		})
	}
}
