package demo

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// conformanceTools lists the tools that the suite calls. If one is missing, the suite only reports a failed scenario.
var conformanceTools = []string{"confirm_delete", "failing_job", "greet", "multi_input", "protocol_error_job", "slow_compute", "test_tool_with_task",
	"test_input_required_result_capabilities", "test_input_required_result_elicitation", "test_input_required_result_list_roots",
	"test_input_required_result_multi_round", "test_input_required_result_multiple_inputs", "test_input_required_result_request_state",
	"test_input_required_result_sampling", "test_input_required_result_tampered_state", "test_logging_tool", "test_missing_capability",
	"test_streaming_elicitation", "test_trigger_prompt_change", "test_trigger_tool_change", "test_x_mcp_header",
	"json_schema_2020_12_tool", "test_audio_content", "test_elicitation",
	"test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums", "test_embedded_resource", "test_error_handling",
	"test_image_content", "test_multiple_content_types", "test_reconnection", "test_sampling", "test_simple_text",
	"test_tool_with_logging", "test_tool_with_progress"}

func TestConformanceAnswers(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"tools/list", `{}`, `"$anchor":"addressDef"`},
		{"tools/call", `{"name":"test_simple_text"}`, `"text":"This is a simple text response for testing."`},
		{"tools/call", `{"name":"test_audio_content"}`, `"type":"audio"`},
		{"tools/call", `{"name":"test_multiple_content_types"}`, `"uri":"test://mixed-content-resource"`},
		{"tools/call", `{"name":"test_error_handling"}`, `"isError":true`},
		{"tools/call", `{"name":"test_reconnection"}`, `"text":"Reconnection`},
		{"tools/call", `{"name":"json_schema_2020_12_tool","arguments":{"phone":"1"}}`, `{\"phone\":\"1\"}`},
		{"tools/call", `{"name":"test_sampling","arguments":{"prompt":"hi"}}`, `the client has not declared the capability sampling"}],"isError":true`},
		{"tools/call", `{"name":"test_sampling","arguments":{"prompt":7}}`, `prompt in arguments is a number; a string was expected`},
		{"resources/read", `{"uri":"test://static-binary"}`, `"blob":"iVBOR`},
		{"resources/read", `{"uri":"test://template/a%20b/data"}`, `\"id\":\"a%20b\"`},
		{"resources/read", `{"uri":"test://template//data"}`, `-32002`},
		{"resources/read", `{"uri":"test://template/1/2/data"}`, `-32002`},
		{"resources/subscribe", `{"uri":"test://watched-resource"}`, `{}`},
		{"prompts/get", `{"name":"test_prompt_with_arguments","arguments":{"arg1":"x","arg2":"y"}}`, `arg1='x', arg2='y'`},
		{"prompts/get", `{"name":"test_prompt_with_embedded_resource","arguments":{"resourceUri":"test://u"}}`, `"uri":"test://u"`},
		{"prompts/get", `{"name":"test_prompt_with_image"}`, `"type":"image"`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}}`, `"paris","park","party"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := serve(t, NewConformance())
			defer d.end()
			d.start("2025-11-25")
			if got := d.ask(c.method, c.params); !strings.Contains(got, c.want) {
				t.Errorf("%s %s: got %s, want %s in it", c.method, c.params, got, c.want)
			}
		})
	}
	s := NewConformance()
	for _, name := range conformanceTools {
		if _, ok := s.tools[name]; !ok {
			t.Errorf("missing tool %s", name)
		}
	}
	if len(s.tools) != len(conformanceTools) {
		t.Errorf("%d tools, want %d", len(s.tools), len(conformanceTools))
	}
}

// Tools that ask questions use the client's answers. A refusal fails the tool, not the request.
func TestConformanceAsks(t *testing.T) {
	for _, c := range []struct{ tool, args, question, answer, want string }{
		{"test_sampling", `{"prompt":"who?"}`, `"text":"who?"`,
			`"result":{"role":"assistant","content":{"type":"text","text":"me"},"model":"m"}`, `LLM response: me`},
		{"test_sampling", `{"prompt":"who?"}`, `"maxTokens":100`, `"error":{"code":-1,"message":"no"}`, `"isError":true`},
		{"test_sampling", `{"prompt":"who?"}`, `"maxTokens":100`, `"result":{"content":[]}`, `"isError":true`},
		{"test_elicitation", `{"message":"tell me"}`, `"message":"tell me"`,
			`"result":{"action":"accept","content":{"username":"u"}}`, `action=accept, content={\"username\":\"u\"}`},
		{"test_elicitation", `{"message":"tell me"}`, `"required":["username","email"]`, `"result":{"action":"decline"}`, `action=decline`},
		{"test_elicitation_sep1034_defaults", `{}`, `"default":95.5`, `"result":{"action":"cancel"}`, `action=cancel`},
		{"test_elicitation_sep1330_enums", `{}`, `"enumNames":["Option One"`, `"result":7`, `"isError":true`},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := serve(t, NewConformance())
			defer d.end()
			d.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`)
			d.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			d.post("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.tool, c.args))
			wantLines(t, d.waiting(), c.question)
			d.send(`{"jsonrpc":"2.0","id":1,` + c.answer + `}`)
			wantLines(t, d.waiting(), c.want)
		})
	}
}

// Log messages and progress precede the result, in order. A canceled tool sends nothing more.
func TestConformanceSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := serve(t, NewConformance())
		defer d.end()
		d.start("2025-11-25")
		d.post("tools/call", `{"name":"test_tool_with_logging"}`)
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), "Tool execution started", "Tool processing data", "Tool execution completed", `"result"`)
		d.post("tools/call", `{"name":"test_tool_with_progress","_meta":{"progressToken":"p"}}`)
		time.Sleep(time.Second)
		wantLines(t, d.waiting(), `"progressToken":"p","progress":0,"total":100`, `"progress":50`, `"progress":100`, `"result"`)
		for _, tool := range []string{"test_tool_with_logging", "test_tool_with_progress", "test_reconnection"} {
			id := d.post("tools/call", fmt.Sprintf(`{"name":%q}`, tool))
			d.waiting()
			d.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
			time.Sleep(time.Second)
			wantLines(t, d.waiting())
		}
		d.ask("resources/subscribe", `{"uri":"test://watched-resource"}`)
		d.waiting()
		time.Sleep(3 * time.Second)
		wantLines(t, d.waiting(), `notifications/resources/updated`)
	})
}
