package backend

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// auto returns a configuration that does not fix the era.
func auto() config.Server {
	c := cfg()
	c.Protocol = "auto"
	return c
}

const legacyWelcome = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`

// initializes answers initialize as a legacy server.
func initializes(g actortest.Message) bool {
	if g.Frame.Method != protocol.MethodInitialize {
		return false
	}
	g.Result(legacyWelcome)
	return true
}

func refuses(code int, text, data string) func(actortest.Message) bool {
	return func(g actortest.Message) bool { g.Error(code, text, data); return true }
}

// httpStatus answers with an HTTP status and no message.
func httpStatus(code int) func(actortest.Message) bool {
	return func(g actortest.Message) bool {
		_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: &upstream.StatusError{Code: code}})
		return true
	}
}

// outcome is the result of opening a server.
type outcome struct {
	phase   message.Phase
	era     protocol.Era // detected era
	version string       // version when ready
	opened  int
	reason  string // part of the reason
}

// The era is detected with as few requests as possible, and a remembered era is tried first.
func TestEraIsDetected(t *testing.T) {
	legacyOnly := []string{"2025-11-25", "2025-06-18"}
	legacyReady := func(opened int) outcome {
		return outcome{message.Ready, protocol.EraLegacy, protocol.Version20251125, opened, ""}
	}
	modernReady := func(opened int) outcome {
		return outcome{message.Ready, protocol.EraModern, protocol.Version20260728, opened, ""}
	}
	forced := func(p string) config.Server {
		c := cfg()
		c.Protocol = p
		return c
	}
	never := func(actortest.Message) bool { return true }
	firstOnly := func(server **actortest.Modern, do func(actortest.Message) bool) func(actortest.Message) bool {
		return func(g actortest.Message) bool { return (*server).Opened() == 1 && do(g) }
	}
	tests := []struct {
		name   string
		http   bool
		cfg    config.Server
		known  message.KnownEra
		make   func(self **actortest.Modern) *actortest.Modern
		wait   time.Duration
		want   outcome
		wanted []string // the first methods that the server got
	}{
		{name: "modern", make: func(**actortest.Modern) *actortest.Modern { return &actortest.Modern{} }, want: modernReady(1)},
		{name: "modern and legacy", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Versions: []string{"2025-11-25", "2026-07-28"}}
		}, want: modernReady(1)},
		{name: "both eras", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: initializes}
		}, want: legacyReady(1), wanted: []string{"initialize", "notifications/initialized"}},
		{name: "both eras over http", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, HandleOther: initializes}
		}, want: modernReady(1)},
		{name: "a gateway", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: func(g actortest.Message) bool {
				g.Result(strings.TrimSuffix(legacyWelcome, "}") + `,"_meta":{` + string(protocol.NodeMember("n")) + `}}`)
				return true
			}}
		}, want: modernReady(2), wanted: []string{"initialize", "server/discover"}},
		{name: "modern over http", http: true, make: func(**actortest.Modern) *actortest.Modern { return &actortest.Modern{HTTP: true} }, want: modernReady(1)},
		{name: "lists legacy versions only (go-sdk with sessions)", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Versions: legacyOnly, HandleOther: initializes}
		}, want: legacyReady(1), wanted: []string{"initialize", "notifications/initialized"}},
		{name: "lists legacy versions only, over http", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, Versions: legacyOnly, HandleOther: initializes}
		}, want: legacyReady(1), wanted: []string{"server/discover", "initialize", "notifications/initialized"}},
		{name: "method not found", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(-32601, "Method not found", ""), HandleOther: initializes}
		}, want: legacyReady(1)},
		{name: "some other error", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(0, "invalid during session initialization", ""), HandleOther: initializes}
		}, want: legacyReady(1)},
		{name: "a meaningless result", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: func(g actortest.Message) bool { g.Result(`{"ok":true}`); return true }, HandleOther: initializes}
		}, want: legacyReady(1)},
		{name: "-32022 with legacy versions only", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(-32022, "no", `{"supported":["2025-06-18"]}`), HandleOther: initializes}
		}, want: legacyReady(1)},
		{name: "-32022 with the gateway's version, then the answer", make: func(self **actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: func(g actortest.Message) bool {
				if len((*self).Received("server/discover")) > 1 {
					return false
				}
				g.Error(-32022, "no", `{"supported":["2026-07-28"]}`)
				return true
			}}
		}, want: modernReady(1)},
		{name: "-32022 with the gateway's version, again and again", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(-32022, "no", `{"supported":["2026-07-28"]}`)}
		}, want: outcome{phase: message.Waiting, opened: 1, reason: "that it had named"}},
		{name: "no version in common", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Versions: []string{"2031-01-01"}}
		}, want: outcome{phase: message.Waiting, opened: 1, reason: `"2031-01-01"; the gateway supports 2026-07-28 and 2025-11-25`}},
		{name: "silent process, modern", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: never}
		}, wait: probeTime, want: modernReady(1), wanted: []string{"initialize", "server/discover"}},
		{name: "slow process, legacy after all", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(-32601, "Method not found", ""), HandleOther: func(g actortest.Message) bool { time.Sleep(probeTime + time.Second); return initializes(g) }}
		}, wait: probeTime + 2*time.Second, want: legacyReady(1), wanted: []string{"initialize", "server/discover", "notifications/initialized"}},
		{name: "slow process, initialize is refused, discover is answered", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: func(actortest.Message) bool { time.Sleep(probeTime + time.Second); return false }}
		}, wait: probeTime + 2*time.Second, want: modernReady(1), wanted: []string{"initialize", "server/discover"}},
		{name: "unusable after initialize", make: func(self **actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: firstOnly(self, refuses(-32602, "not initialized", ""))}
		}, want: modernReady(2), wanted: []string{"initialize", "server/discover", "server/discover"}},
		{name: "ends because of initialize", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: func(g actortest.Message) bool { g.Peer.Close(errors.New("exit status 1")); return true }}
		}, want: modernReady(2), wanted: []string{"initialize", "server/discover"}},
		{name: "refuses everything", make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Discover: refuses(-32601, "no", "")}
		}, want: outcome{phase: message.Waiting, opened: 2, reason: "refused initialize"}},
		{name: "configured legacy", cfg: forced("legacy"), make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: initializes}
		}, want: outcome{message.Ready, "", protocol.Version20251125, 1, ""}, wanted: []string{"initialize"}},
		{name: "configured modern", cfg: forced("2026-07-28"), make: func(**actortest.Modern) *actortest.Modern { return &actortest.Modern{} },
			want: outcome{message.Ready, "", protocol.Version20260728, 1, ""}},
		{name: "configured modern, speaks legacy only", cfg: forced("modern"), make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{Versions: legacyOnly, HandleOther: initializes}
		}, want: outcome{phase: message.Waiting, opened: 1, reason: "protocol is set to modern"}},
		{name: "remembered legacy", known: message.KnownEra{Era: protocol.EraLegacy, At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HandleOther: initializes}
		}, want: legacyReady(1), wanted: []string{"initialize", "notifications/initialized"}},
		{name: "remembered legacy, long ago", known: message.KnownEra{Era: protocol.EraLegacy, At: time.Date(1999, 12, 30, 0, 0, 0, 0, time.UTC)},
			make: func(**actortest.Modern) *actortest.Modern { return &actortest.Modern{} }, want: modernReady(1)},
		{name: "remembered legacy, is now modern", known: message.KnownEra{Era: protocol.EraLegacy, At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)},
			make: func(**actortest.Modern) *actortest.Modern { return &actortest.Modern{} }, want: modernReady(1), wanted: []string{"initialize", "server/discover"}},
		{name: "remembered modern, is now legacy", known: message.KnownEra{Era: protocol.EraModern},
			make: func(**actortest.Modern) *actortest.Modern {
				return &actortest.Modern{Discover: refuses(-32601, "no", ""), HandleOther: initializes}
			}, want: legacyReady(1)},
		{name: "http: an HTML page", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, Discover: httpStatus(404), HandleOther: initializes}
		}, want: legacyReady(1)},
		{name: "http: an empty response", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, HandleOther: initializes, Discover: func(g actortest.Message) bool {
				_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: upstream.ErrNoAnswer})
				return true
			}}
		}, want: legacyReady(1)},
		{name: "http: requires a login", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, Discover: httpStatus(401), HandleOther: initializes}
		}, want: outcome{phase: message.NeedsLogin, opened: 1, reason: "login"}},
		{name: "http: requires a login, in JSON-RPC", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, HandleOther: initializes, Discover: func(g actortest.Message) bool {
				var f protocol.Frame
				_ = f.Parse([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"who are you"}}`))
				_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Status: 403})
				return true
			}}
		}, want: outcome{phase: message.NeedsLogin, opened: 1, reason: "who are you"}},
		{name: "http: overloaded", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, Discover: httpStatus(503), HandleOther: initializes}
		}, want: outcome{phase: message.Waiting, opened: 1, reason: "503"}, wanted: []string{"server/discover"}},
		{name: "http: no response", http: true, make: func(**actortest.Modern) *actortest.Modern {
			return &actortest.Modern{HTTP: true, Discover: never, HandleOther: initializes}
		}, wait: probeTime + time.Second, want: outcome{phase: message.Handshaking, opened: 1}, wanted: []string{"server/discover"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var server *actortest.Modern
				server = test.make(&server)
				o := Options{Server: test.cfg, Open: server.Open, Transport: "stdio", Catalog: true, Known: test.known}
				if test.http {
					o.Transport = "http"
				}
				if o.Server.Name == "" {
					o.Server = auto()
				}
				b := startOn(t, o)
				defer b.stop()
				if test.wait > 0 {
					synctest.Wait()
					time.Sleep(test.wait)
				}
				synctest.Wait()
				if test.wait == 0 && test.http {
					time.Sleep(2 * openingTime) // the pipe's GET stream is never opened
					synctest.Wait()
				}
				changes := actortest.Of[message.BackendChanged](b.pool)
				last := changes[len(changes)-1]
				for i, c := range changes { // the server may have been lost and opened again meanwhile
					if c.Phase == message.Ready || c.Phase == message.Waiting || c.Phase == message.NeedsLogin {
						last = changes[i]
						break
					}
				}
				got := outcome{phase: last.Phase, era: last.Known.Era, opened: int(last.Incarnation), reason: last.Reason}
				if last.Info != nil {
					got.version = last.Info.Version
				}
				if got.phase != test.want.phase || got.era != test.want.era || got.version != test.want.version || got.opened != test.want.opened ||
					!strings.Contains(got.reason, test.want.reason) {
					t.Errorf("got %+v\nwant %+v\nserver got %v", got, test.want, server.Methods())
				}
				if n := len(test.wanted); n > 0 && !slices.Equal(server.Methods()[:min(n, len(server.Methods()))], test.wanted) {
					t.Errorf("server got %v, want it to begin with %v", server.Methods(), test.wanted)
				}
			})
		})
	}
}

// A modern server's description reaches the pool, and server/discover carries everything that a modern request needs.
func TestModernServerInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &actortest.Modern{}
		b := startOn(t, Options{Server: auto(), Node: "n", Open: server.Open, Transport: "stdio", Catalog: true, Announce: message.CanForm | message.CanRoots})
		defer b.stop()
		synctest.Wait()
		changes := actortest.Of[message.BackendChanged](b.pool)
		info := changes[len(changes)-1].Info
		if info == nil || string(info.Info) != `{"name":"fake","version":"2"}` || info.Instructions != "be modern" {
			t.Errorf("the pool got %+v, want the server's name and instructions", info)
		}
		want := `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":{}},"io.modelcontextprotocol/clientInfo":` + clientInfo + `,"goblin-actor/node":"n"}}}`
		if got := string(server.Received("server/discover")[0].Frame.Raw); got != want {
			t.Errorf("probe\n%s, want\n%s", got, want)
		}
		if v := server.Last().Version(); v != protocol.Version20260728 {
			t.Errorf("the connection sends version %q", v)
		}
	})
}

// A program that exits immediately, for example because environment variables are missing, is started twice on the first
// attempt, since initialize may be the cause. Each later attempt starts one process. Once the program works, its era is
// detected as usual.
func TestProcessEndsWithoutOutput(t *testing.T) {
	for name, answer := range map[string]struct {
		is   string
		then []string
	}{
		"legacy": {welcome, []string{"notifications/initialized", "tools/list"}},
		"modern": {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`, []string{"server/discover"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &driver{t: t, s: newState(Options{Server: auto(), Node: "n", Catalog: true, Transport: "stdio"}, kernel.Reference{}, new(uint64))}
			o.step(kernel.Started{})
			o.step(message.Connect{})
			number := incarnation(1)
			starts := func(method string) {
				t.Helper()
				o.want(linkEvent{number, upstream.Opened{}}, method)
				o.want(linkEvent{number, upstream.Written{Ticket: 1}})
			}
			ends := func(phase message.Phase) {
				t.Helper()
				o.want(linkEvent{number, upstream.Closed{Err: &upstream.ExitError{Code: 1}}})
				if o.s.life.phase != phase {
					t.Fatalf("the process of attempt %d ended: %s, want %s", number, o.s.life.phase, phase)
				}
				o.step(reconnectDue{number})
				o.step(message.Connect{})
				number++
			}
			starts("initialize")
			ends(message.Connecting)
			starts("server/discover")
			ends(message.Waiting)
			for range 3 {
				starts("initialize")
				ends(message.Waiting)
			}
			starts("initialize")
			e := o.frame(answer.is)
			e.incarnation = number
			o.want(e, answer.then...)
		})
	}
}
