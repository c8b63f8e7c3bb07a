package actors

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
)

const strictTool = `{"name":"log","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"count":{"type":"integer"}},"required":["path"]}}`

// With validateArguments: refuse, a call whose arguments do not match the schema gets the problems and the schema, and does not reach
// its server. This holds in both eras, by name and through call_tool. A reload switches the check on and off.
func TestInvalidArgumentsAreRefused(t *testing.T) {
	inBubble(func(t *testing.T) {
		server := &actortest.Server{Tools: []string{strictTool}}
		var first config.Config
		h := startStdio(t, map[string]*actortest.Server{"one": server}, func(c *config.Config) {
			c.MetaTools, c.Servers[0].Tools.Invalid = "all", "hide"
			first = *c
		})
		defer h.close()
		h.initialize()
		calls := map[string]func(arguments string) string{
			"legacy": func(arguments string) string {
				return h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_log"` + arguments + `}}`)
			},
			"modern": func(arguments string) string {
				return h.roundTrip(modern(2, "tools/call", `{}`, `,"name":"one_log"`+arguments))
			},
			"call_tool": func(arguments string) string {
				return h.roundTrip(metaCall(3, "goblin_call_tool", `{"name":"one_log"`+arguments+`}`))
			},
			"modern call_tool": func(arguments string) string {
				return h.roundTrip(modern(4, "tools/call", `{}`, `,"name":"goblin_call_tool","arguments":{"name":"one_log"`+arguments+`}`))
			},
		}
		const wrong, right = `,"arguments":{"count":"secret"}`, `,"arguments":{"path":".","count":1}`
		const want = `"problems":[{"pointer":"/count","expected":"want integer, found a string"},{"pointer":"/path","expected":"the required member is missing: want string"}],"schema":{"type":"object",`
		for _, rule := range []string{"off", "refuse", "off"} {
			h.gateway.Reload(withFirstServer(first, func(s *config.Server) { s.ValidateArguments = rule }))
			time.Sleep(5 * time.Second)
			for way, call := range calls {
				before := len(server.Received("tools/call"))
				got := call(wrong)
				reached := len(server.Received("tools/call")) > before
				refused := strings.Contains(got, `"code":-32602`) && strings.Contains(got, want) && !strings.Contains(got, "secret") &&
					strings.Contains(got, `"message":"the arguments do not match the inputSchema of tool one_log: /count: want integer, found a string (and 1 more in error.data.problems)"`)
				if refused != (rule == "refuse") || reached == refused {
					t.Errorf("%s, %s: reached the server %v; %s", rule, way, reached, got)
				}
				if got := call(right); !strings.Contains(got, `"result"`) {
					t.Errorf("%s, %s, valid arguments: %s", rule, way, got)
				}
				if got := call(""); strings.Contains(got, `"result"`) == (rule == "refuse") {
					t.Errorf("%s, %s, without arguments: %s", rule, way, got)
				}
			}
		}
	})(t)
}
