package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const canAll = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// oracle initializes a session with the oracle as a client with the given capabilities.
func oracle(t *testing.T, version, capabilities string) *talk {
	d := serve(t, NewOracle())
	d.ask("initialize", `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"t","version":"1"}}`)
	d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return d
}

// round is a set of questions asked at once.
type round struct {
	ask    []string // text that each question contains, in order
	answer []string // the answer to each
}

func one(ask, answer string) []round { return []round{{[]string{ask}, []string{answer}}} }

// oracleCase is a call with its rounds of questions.
type oracleCase struct {
	name, version, can, method, params string
	rounds                             []round
	want                               string
}

func oracleCases() []oracleCase {
	return []oracleCase{
		{"form", "2025-11-25", canAll, "tools/call", `{"name":"consult"}`,
			one(`"oneOf":[`, `"result":{"action":"accept","content":{"name":"Ugg","topic":"war","age":7,"omens":["crow","toad"]}}`),
			`Ugg (7), about war: Bring a bigger shovel. Beware of the crow and the toad.`},
		{"form of an older version", "2025-06-18", `{"elicitation":{}}`, "tools/call", `{"name":"consult"}`,
			one(`"enumNames":[`, `"result":{"action":"accept","content":{"name":"Ugg","topic":"gold"}}`), `Ugg, about gold:`},
		{"declined", "2025-11-25", canAll, "tools/call", `{"name":"consult"}`,
			one(`"minimum":1`, `"result":{"action":"decline"}`), `came back with \"decline\"`},
		{"outside the form", "2025-11-25", canAll, "tools/call", `{"name":"consult"}`,
			one(`"minimum":1`, `"result":{"action":"accept","content":{"name":"Ugg","topic":"tea"}}`), `"isError":true`},
		{"no answer at all", "2025-11-25", canAll, "tools/call", `{"name":"consult"}`,
			one(`"minimum":1`, `"result":{}`), `the oracle is silent"}],"isError":true`},
		{"refused", "2025-11-25", canAll, "tools/call", `{"name":"consult"}`,
			one(`"minimum":1`, `"error":{"code":-1,"message":"no"}`), `no (-1)"}],"isError":true`},
		{"cannot", "2025-11-25", `{"elicitation":{"url":{}}}`, "tools/call", `{"name":"consult"}`, nil,
			`the client has not declared the capability elicitation"}],"isError":true`},
		{"too old", "2025-03-26", canAll, "tools/call", `{"name":"consult"}`, nil, `Unknown tool: consult`},
		{"model", "2024-11-05", canAll, "tools/call", `{"name":"divine","arguments":{"question":"why?"}}`,
			one(`"text":"why?"`, `"result":{"role":"assistant","model":"m","content":{"type":"text","text":"because"}}`), `The model says: because`},
		{"model that says nothing", "2025-11-25", canAll, "tools/call", `{"name":"divine","arguments":{"question":"why?"}}`,
			one(`"maxTokens":200`, `"result":{"role":"assistant","model":"m","content":{"type":"image","data":""}}`), `"isError":true`},
		{"nothing to ask", "2025-11-25", canAll, "tools/call", `{"name":"divine"}`, nil, `question is required`},
		{"roots", "2025-11-25", canAll, "tools/call", `{"name":"look_around"}`,
			one(`"method":"roots/list"`, `"result":{"roots":[{"uri":"file:///a"},{"uri":"file:///b","name":"B"}]}`), `file:///a\nfile:///b B`},
		{"no roots", "2025-11-25", canAll, "tools/call", `{"name":"look_around"}`,
			one(`"method":"roots/list"`, `"result":{"roots":[]}`), `no roots`},
		{"page", "2025-11-25", canAll, "tools/call", `{"name":"visit"}`,
			one(`"mode":"url"`, `"result":{"action":"accept"}`), `notifications/elicitation/complete`},
		{"page, no", "2025-11-25", canAll, "tools/call", `{"name":"visit"}`,
			one(`"url":"https://example.com/shrine"`, `"result":{"action":"cancel"}`), `You did not go (cancel).`},
		{"several at once", "2025-11-25", canAll, "tools/call", `{"name":"council"}`,
			[]round{{[]string{`elicitation/create`, `sampling/createMessage`, `roots/list`},
				[]string{`"result":{"action":"accept","content":{"opinion":"dig"}}`, `"error":{"code":-1,"message":"no model"}`, `"result":{"roots":[]}`}}},
			`The user says: dig\nThe model says: (the client refused: no model (-1))\nThe client's roots: no roots`},
		{"several at once, one cannot be asked", "2025-11-25", `{"elicitation":{},"roots":{}}`, "tools/call", `{"name":"council"}`,
			[]round{{[]string{`elicitation/create`, `roots/list`}, []string{`"result":{"action":"decline"}`, `"result":{"roots":[]}`}}},
			`The user says: (decline)\nThe model says: (the client has not declared the capability sampling)`},
		{"several rounds", "2025-11-25", canAll, "tools/call", `{"name":"riddle"}`,
			[]round{
				{[]string{`What gets bigger`}, []string{`"result":{"action":"accept","content":{"guess":"a debt"}}`}},
				{[]string{`No, not \"a debt\".`}, []string{`"result":{"action":"accept","content":{"guess":"A Hole"}}`}},
			}, `Solved with 2 of 3 guesses.`},
		{"prompt", "2025-11-25", canAll, "prompts/get", `{"name":"prophecy"}`,
			one(`elicitation/create`, `"result":{"action":"accept","content":{"name":"Ugg"}}`), `Write a prophecy about Ugg`},
		{"prompt, no", "2025-11-25", canAll, "prompts/get", `{"name":"prophecy"}`,
			one(`elicitation/create`, `"result":{"action":"decline"}`), `no name was given: decline`},
		{"resource", "2025-11-25", canAll, "resources/read", `{"uri":"oracle://whisper"}`,
			one(`Whisper something.`, `"result":{"role":"assistant","model":"m","content":{"type":"text","text":"psst"}}`), `"text":"psst"`},
	}
}

// Each tool asks the expected questions and handles every kind of answer.
func TestOracle(t *testing.T) {
	for _, c := range oracleCases() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := oracle(t, c.version, c.can)
				defer d.end()
				d.post(c.method, c.params)
				id := 0
				for _, r := range c.rounds {
					wantLines(t, d.waiting(), r.ask...)
					for _, answer := range r.answer {
						id++
						d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, answer))
					}
				}
				if got := strings.Join(d.waiting(), "\n"); !strings.Contains(got, c.want) {
					t.Errorf("got %s, want %s in it", got, c.want)
				}
			})
		})
	}
}

// Progress is reported before the first question, between questions, and after the last one.
func TestOracleProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := oracle(t, "2025-11-25", canAll)
		defer d.end()
		d.post("tools/call", `{"name":"riddle","_meta":{"progressToken":"p"}}`)
		for i := range riddleRounds {
			wantLines(t, d.waiting(), fmt.Sprintf(`"progress":%d,"total":4`, i+1), "elicitation/create")
			d.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"guess":"no idea"}}}`, i+1))
		}
		wantLines(t, d.waiting(), `"progress":4,"total":4`, "It was a hole.")
	})
}

// A canceled call with open questions ends, and late answers have no effect.
func TestOracleCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := oracle(t, "2025-11-25", canAll)
		defer d.end()
		id := d.post("tools/call", `{"name":"council"}`)
		d.waiting()
		d.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		time.Sleep(time.Second)
		d.send(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"opinion":"late"}}}`)
		wantLines(t, d.waiting())
	})
}

// The official Go client answers each kind of question, over stdio and Streamable HTTP.
func TestGoSDKOracle(t *testing.T) {
	for name, transport := range map[string]mcp.Transport{
		"stdio": &mcp.CommandTransport{Command: process(t, "oracle")},
		"http":  &mcp.StreamableClientTransport{Endpoint: overHTTP(t, NewOracle()), MaxRetries: -1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"opinion": "dig", "name": "Ugg", "topic": "gold", "guess": "hole"}}, nil
				},
				//lint:ignore SA1019 this tests sampling
				CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					//lint:ignore SA1019 this tests sampling
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "wait"}}, nil
				},
			})
			//lint:ignore SA1019 this tests roots
			client.AddRoots(&mcp.Root{URI: "file:///cave"})
			c, err := client.Connect(ctx, transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for tool, want := range map[string]string{
				"consult": "about gold", "riddle": "1 of 3 guesses", "council": "The user says: dig\nThe model says: wait\nThe client's roots: file:///cave",
			} {
				r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool})
				if err != nil {
					t.Fatal(err)
				}
				if raw, _ := json.Marshal(r); !strings.Contains(string(raw), strings.ReplaceAll(want, "\n", `\n`)) {
					t.Errorf("%s = %s, want %s", tool, raw, want)
				}
			}
		})
	}
}
