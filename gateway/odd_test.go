package gateway_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"goblin-actor/gateway"
	"goblin-actor/internal/gatetest"
)

// Invalid results of a server are reported as errors that say what is wrong. The server runs as a real process.
func TestOddResultsAreExplained(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, g := within(t), start(t, gateway.Config{Servers: map[string]gateway.Server{"odd": {Command: self, Env: map[string]string{oddVariable: "items"}, Settings: map[string]any{"tools": map[string]any{"invalid": "show"}}}}})
	want := map[string]string{
		"call string":      `call "odd_string": the result is a string; an object with content was expected`,
		"call array":       `call "odd_array": the result is an array; an object with content was expected`,
		"call null":        `call "odd_null": the result is null; an object with content was expected`,
		"call textcontent": `call "odd_textcontent": content in the result is a string; an array was expected`,
		"call texterror":   `call "odd_texterror": isError in the result is a string; a boolean was expected`,
		"read number":      `the result of reading "resource://odd/odd:number" is a number; an object with contents was expected`,
		"read numbertext":  `contents[0].text in the result of reading "resource://odd/odd:numbertext" is a number; a string was expected`,
		"read badblob":     `contents[0].blob in the result of reading "resource://odd/odd:badblob" is a string; base64 text was expected`,
	}
	for _, name := range slices.Sorted(maps.Keys(gatetest.Odd)) {
		_, called := g.CallTool(ctx, "odd_"+name, nil, nil)
		_, read := g.ReadResource(ctx, "resource://odd/odd:"+name)
		for verb, err := range map[string]error{"call": called, "read": read} {
			text := ""
			if err != nil {
				text = err.Error()
			}
			if expected, ok := want[verb+" "+name]; ok && text != expected || gatetest.Internals(text) != "" {
				t.Errorf("%s %s: %q, want %q", verb, name, text, expected)
			}
		}
	}
	tools, err := g.ListTools(ctx, false)
	if err != nil || !slices.ContainsFunc(tools, func(tool gateway.Tool) bool { return strings.HasPrefix(tool.Name, "odd_") }) {
		t.Errorf("%d tools, %v", len(tools), err)
	}
}
