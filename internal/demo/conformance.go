package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A PNG image of one pixel, and the header of a WAV sound without samples, in base64.
const (
	redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// stepPause is the delay between the messages of a tool that sends several.
const stepPause = 50 * time.Millisecond

// NewConformance returns the fixture of the official MCP conformance suite: all tools, resources and
// prompts that the suite names, with the results that it expects. Requests to the client are in conformance_ask.go.
func NewConformance() *Server {
	s := New("conformance", "1.0.0")
	s.Instructions = "A fixture for the MCP conformance suite; it does nothing useful."
	addConformanceTools(s)
	addConformanceQuestions(s)
	addConformanceRounds(s)
	addConformanceTasks(s)
	addConformanceModern(s)
	addConformanceResources(s)
	addConformancePrompts(s)
	return s
}

func addConformanceTools(s *Server) {
	for _, t := range []Tool{
		{Name: "test_simple_text", Description: "Returns a text block",
			Handle: answers(blocks{textBlock("This is a simple text response for testing.")})},
		{Name: "test_image_content", Description: "Returns an image",
			Handle: answers(blocks{imageBlock()})},
		{Name: "test_audio_content", Description: "Returns a sound",
			Handle: answers(blocks{{"type": "audio", "data": silence, "mimeType": "audio/wav"}})},
		{Name: "test_embedded_resource", Description: "Returns an embedded resource",
			Handle: answers(blocks{embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")})},
		{Name: "test_multiple_content_types", Description: "Returns a text, an image and an embedded resource",
			Handle: answers(blocks{
				textBlock("Multiple content types test:"), imageBlock(),
				embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
			})},
		{Name: "test_error_handling", Description: "Always fails", Handle: func(*Call) (any, error) {
			return nil, errors.New("This tool intentionally returns an error for testing") //lint:ignore ST1005 the suite expects this sentence
		}},
		{Name: "test_tool_with_logging", Description: "Sends three log messages before its result", Handle: logThrice},
		{Name: "test_tool_with_progress", Description: "Reports progress three times before its result", Handle: progressThrice},
		{Name: "test_reconnection", Description: "Logs a message and returns a tenth of a second later", Handle: func(c *Call) (any, error) {
			c.Log("info", "conformance", "the answer is a stream") // over HTTP the log message makes the response a stream, which must be resumable
			return Text("Reconnection test completed successfully."), c.sleep(2 * stepPause)
		}},
		{Name: "json_schema_2020_12_tool", Description: "Tool with JSON Schema 2020-12 features", Input: json.RawMessage(schema202012),
			Handle: func(c *Call) (any, error) {
				return Text("JSON Schema 2020-12 tool called with: %s", c.Arguments), nil
			}},
	} {
		s.AddTool(t)
	}
}

// schema202012 has keywords that servers and gateways must preserve (SEP-1613, SEP-2106).
const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

func logThrice(c *Call) (any, error) {
	for i, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := c.sleep(stepPause); err != nil {
				return nil, err
			}
		}
		c.Log("info", "conformance", line)
	}
	return Text("Three log lines were sent."), nil
}

func progressThrice(c *Call) (any, error) {
	for done := 0.0; done <= 100; done += 50 {
		if done > 0 {
			if err := c.sleep(stepPause); err != nil {
				return nil, err
			}
		}
		c.Progress(done, 100, "")
	}
	return Text("Progress was reported three times."), nil
}

// sleep waits for d or until the call is canceled.
func (c *Call) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.Context.Done():
		return context.Cause(c.Context)
	}
}

// addConformanceResources adds the resources. One of them is reported as changed every three seconds.
func addConformanceResources(s *Server) {
	const watched = "test://watched-resource"
	for _, r := range []struct{ uri, mime, member, content, about string }{
		{"test://static-text", "text/plain", "text", "This is the content of the static text resource.", "A constant text"},
		{"test://static-binary", "image/png", "blob", redPixel, "A constant image"},
		{watched, "text/plain", "text", "Watched resource content", "A text that claims to change every three seconds"},
	} {
		s.SetResource(Resource{
			URI: r.uri, Name: strings.TrimPrefix(r.uri, "test://"), Description: r.about, MIMEType: r.mime,
			Handle: func(*Call) (any, error) { return contents(r.uri, r.mime, r.member, r.content), nil },
		})
	}
	s.AddTemplate(Template{
		URITemplate: "test://template/{id}/data", Name: "template", Description: "JSON with the id in the URI", MIMEType: "application/json",
		Match: func(uri string) bool { _, ok := templateID(uri); return ok },
		Handle: func(c *Call) (any, error) {
			id, _ := templateID(c.Name)
			text, err := marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			return contents(c.Name, "application/json", "text", string(text)), err
		},
	})
	s.Background = func(ctx context.Context) {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.Updated(watched)
			case <-ctx.Done():
				return
			}
		}
	}
}

// templateID extracts the id of test://template/{id}/data.
func templateID(uri string) (id string, ok bool) {
	rest, began := strings.CutPrefix(uri, "test://template/")
	id, ended := strings.CutSuffix(rest, "/data")
	return id, began && ended && id != "" && !strings.Contains(id, "/")
}
