package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const canTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// modern returns params with _meta and the given members.
func modern(capabilities, members string) string {
	meta := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
	if members != "" {
		meta += "," + members
	}
	return meta + "}"
}

func TestModernAnswers(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"server/discover", modern(`{}`, ``), `"supportedVersions":["2026-07-28"]`},
		{"server/discover", modern(`{}`, ``), `"io.modelcontextprotocol/serverInfo":{"name":"conformance","version":"1.0.0"}`},
		{"server/discover", modern(`{}`, ``), `"extensions":{"io.modelcontextprotocol/tasks":{}}`},
		{"tools/list", modern(`{}`, ``), `"ttlMs":0`},
		{"tools/call", modern(`{}`, `"name":"test_simple_text"`), `"resultType":"complete"`},
		{"tools/call", modern(`{}`, `"name":"nope"`), `"code":-32602`},
		{"tools/call", modern(`{}`, `"name":"test_missing_capability"`), `"code":-32021`},
		{"tools/call", modern(`{}`, `"name":"test_missing_capability"`), `"data":{"requiredCapabilities":{"sampling":{}}}`},
		{"tools/call", modern(`{}`, `"name":"test_input_required_result_elicitation"`), `has not declared the capability elicitation"}],"isError":true`},
		{"tools/call", modern(canAll, `"name":"test_input_required_result_elicitation","inputResponses":7`), `"code":-32602`},
		{"tools/call", modern(canAll, `"name":"test_input_required_result_elicitation","inputResponses":{"user_name":7}`), `"resultType":"input_required"`},
		{"tools/call", modern(canAll, `"name":"test_input_required_result_elicitation","inputResponses":{"other":{"action":"accept"}}`), `"inputRequests":{"user_name"`},
		{"tools/call", modern(canAll, `"name":"test_input_required_result_elicitation","requestState":"forged"`), `"code":-32602`},
		{"resources/read", modern(`{}`, `"uri":"test://static-text"`), `"cacheScope":"private"`},
		{"resources/read", modern(`{}`, `"uri":"test://nothing"`), `"error":{"code":-32602,"message":"Resource not found: test://nothing","data":{"uri":"test://nothing"}}`},
		{"ping", modern(`{}`, ``), `"code":-32601`},
		{"tasks/list", modern(canTasks, ``), `"code":-32601`},
		{"tasks/get", modern(`{}`, `"taskId":"x"`), `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`},
		{"tasks/get", modern(canTasks, `"taskId":"x"`), `"code":-32602`},
		{"tools/call", modern(`{}`, `"name":"failing_job"`), `"code":-32021`},
		{"tools/call", modern(`{}`, `"name":"slow_compute","arguments":{"seconds":0,"label":"l"}`), `l: computed for 0 seconds`},
		{"subscriptions/listen", modern(`{}`, `"notifications":{}`), `"resultType":"complete"`},
		{"subscriptions/listen", modern(`{}`, `"notifications":{"taskIds":["x"]}`), `"code":-32021`},
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, `"code":-32022`},
	} {
		t.Run(c.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewConformance()
				s.Protocol = "2026-07-28"
				d := serve(t, s)
				defer d.end()
				if got := d.ask(c.method, c.params); !strings.Contains(got, c.want) {
					t.Errorf("%s %s = %s, want %s in it", c.method, c.params, got, c.want)
				}
			})
		})
	}
}

// The oracle asks modern and legacy clients the same questions, and handles the same answers in the same way.
func TestOracleModern(t *testing.T) {
	for _, c := range oracleCases() {
		if c.version != "2025-11-25" || slices.ContainsFunc(c.rounds, unsaid) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := serve(t, NewOracle())
				defer d.end()
				more := ""
				for _, r := range c.rounds {
					asked := parseRequired(t, d.ask(c.method, modern(c.can, c.params[1:len(c.params)-1]+more)))
					answers := map[string]json.RawMessage{}
					for i, question := range r.ask {
						for key, raw := range asked.InputRequests {
							if strings.Contains(string(raw), question) {
								answers[key] = json.RawMessage(strings.TrimPrefix(r.answer[i], `"result":`))
							}
						}
					}
					if len(answers) != len(r.ask) || len(asked.InputRequests) != len(r.ask) {
						t.Fatalf("asked %s, want %q", asked.InputRequests, r.ask)
					}
					raw, _ := json.Marshal(answers)
					more = fmt.Sprintf(`,"inputResponses":%s`, raw)
					if asked.RequestState != "" {
						more += fmt.Sprintf(`,"requestState":%q`, asked.RequestState)
					}
				}
				want := strings.Replace(c.want, "notifications/elicitation/complete", "The shrine has seen you", 1)
				if got := d.ask(c.method, modern(c.can, c.params[1:len(c.params)-1]+more)); !strings.Contains(got, want) {
					t.Errorf("got %s, want %s in it", got, want)
				}
			})
		})
	}
}

// unsaid reports whether a round has answers that a modern client cannot give.
func unsaid(r round) bool {
	return slices.ContainsFunc(r.answer, func(a string) bool { return strings.HasPrefix(a, `"error"`) || a == `"result":{}` })
}

type required struct {
	ResultType    string
	InputRequests map[string]json.RawMessage
	RequestState  string
}

func parseRequired(t *testing.T, line string) required {
	t.Helper()
	var m struct{ Result required }
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.ResultType != "input_required" {
		t.Fatalf("%s is not an input_required result", line)
	}
	return m.Result
}

// A requestState is valid for its own request only, and for ten minutes.
func TestModernState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewConformance())
		defer d.end()
		const tool = `"name":"test_input_required_result_tampered_state"`
		asked := parseRequired(t, d.ask("tools/call", modern(canAll, tool)))
		answer := func(state, more string) string {
			return modern(canAll, fmt.Sprintf(`%s,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}},"requestState":%q`, tool, state)+more)
		}
		for name, c := range map[string]struct{ params, want string }{
			"right":           {answer(asked.RequestState, ""), "state-ok"},
			"again":           {answer(asked.RequestState, ""), "state-ok"},
			"changed":         {answer(asked.RequestState+"-TAMPERED", ""), "-32602"},
			"other arguments": {answer(asked.RequestState, `,"arguments":{"a":1}`), "-32602"},
		} {
			if got := d.ask("tools/call", c.params); !strings.Contains(got, c.want) {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
		time.Sleep(stateLife)
		if got := d.ask("tools/call", answer(asked.RequestState, "")); !strings.Contains(got, "-32602") {
			t.Errorf("expired: %s", got)
		}
	})
}

// A stream starts with an acknowledgment, carries tagged notifications of the requested kinds, and ends when the
// client cancels it.
func TestModernListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewConformance())
		defer d.end()
		id := d.post("subscriptions/listen", modern(`{}`, `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource","test://nothing"]}`))
		wantLines(t, d.waiting(), fmt.Sprintf(`subscriptionId":%d},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource"]}`, id))
		d.ask("tools/call", modern(`{}`, `"name":"test_trigger_prompt_change"`))
		d.post("tools/call", modern(`{}`, `"name":"test_trigger_tool_change"`))
		wantLines(t, d.waiting()[:1], fmt.Sprintf(`"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%d}}`, id))
		time.Sleep(3 * time.Second)
		wantLines(t, d.waiting(), `"uri":"test://watched-resource"`)
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		time.Sleep(time.Minute)
		wantLines(t, d.waiting())
	})
}

// Only requested log messages are sent. Running requests can be canceled.
func TestModernLogAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewConformance())
		defer d.end()
		d.post("tools/call", modern(`{}`, `"name":"test_logging_tool"`))
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), `"result"`)
		d.post("tools/call", modern(`{},"io.modelcontextprotocol/logLevel":"info"`, `"name":"test_logging_tool"`))
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), `started`, `processing`, `completed`, `"result"`)
		id := d.post("tools/call", modern(`{}`, `"name":"test_logging_tool"`))
		d.waiting()
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		time.Sleep(time.Second)
		wantLines(t, d.waiting())
	})
}

// A task continues after its answer, asks questions, notifies its subscribers, and stores its result.
func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewConformance())
		defer d.end()
		get := func(id string) map[string]any { return d.task("tasks/get", `"taskId":"`+id+`"`) }
		id := d.task("tools/call", `"name":"multi_input"`)["taskId"].(string)
		d.post("subscriptions/listen", modern(canTasks, `"notifications":{"taskIds":["`+id+`"]}`))
		d.waiting()
		if got := keysOf(get(id)["inputRequests"]); !slices.Equal(got, []string{"first", "second"}) {
			t.Fatalf("asked %v", got)
		}
		d.task("tasks/update", `"taskId":"`+id+`","inputResponses":{"first":{"action":"accept","content":{"value":"a"}},"third":{}}`)
		if got := keysOf(get(id)["inputRequests"]); !slices.Equal(got, []string{"second"}) {
			t.Fatalf("asked %v", got)
		}
		d.task("tasks/update", `"taskId":"`+id+`","inputResponses":{"second":{"action":"accept","content":{"value":"b"}}}`)
		synctest.Wait()
		if got := get(id); got["status"] != "completed" || !strings.Contains(fmt.Sprint(got["result"]), "a and b") {
			t.Fatalf("ended as %v", got)
		}
		d.task("tasks/cancel", `"taskId":"`+id+`"`)
		if got := get(id)["status"]; got != "completed" {
			t.Errorf("a finished task has status %v after a cancellation", got)
		}
		for tool, want := range map[string]string{
			`"name":"slow_compute","arguments":{"seconds":600}`: "cancelled", `"name":"confirm_delete","arguments":{"filename":"f"}`: "cancelled",
			`"name":"failing_job"`: "completed", `"name":"protocol_error_job"`: "failed",
		} {
			id := d.task("tools/call", tool)["taskId"].(string)
			time.Sleep(2 * time.Second)
			if want == "cancelled" {
				d.task("tasks/cancel", `"taskId":"`+id+`"`)
			}
			if got := get(id); got["status"] != want {
				t.Errorf("%s: %v, want %s", tool, got, want)
			}
		}
	})
}

// task sends a request of a client with the tasks extension and returns the result.
func (c *talk) task(method, members string) map[string]any {
	c.t.Helper()
	var m struct{ Result map[string]any }
	line := c.ask(method, modern(canTasks, members))
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result == nil {
		c.t.Fatalf("%s %s: %s", method, members, line)
	}
	return m.Result
}

func keysOf(v any) []string {
	m, _ := v.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}
