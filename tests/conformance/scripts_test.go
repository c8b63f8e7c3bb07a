package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

// scripts holds what a client does in a scenario after the handshake. The default is to list the tools and to call test-tool.
var scripts = map[string]func(context.Context, *driver) error{
	"initialize":                          listOnly,
	"tools_call":                          calls("add_numbers", map[string]any{"a": 5, "b": 3}),
	"elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults", map[string]any{}),
	"sse-retry":                           calls("test_reconnection", map[string]any{}),
	"json-schema-2020-12-preservation":    echoSchema,
	"json-schema-ref-no-deref":            listOnly,
	"request-metadata":                    listOnly,
	"sep-2322-client-request-state":       callAll(map[string]any{}),
	"http-standard-headers":               useAll,
	"http-custom-headers":                 callGiven,
	"http-invalid-tool-headers":           callAll(map[string]any{"region": "us-west1"}),
}

func listOnly(ctx context.Context, d *driver) error {
	_, err := d.list(ctx)
	return err
}

// calls returns a script that lists the tools and calls one.
func calls(tool string, args map[string]any) func(context.Context, *driver) error {
	return func(ctx context.Context, d *driver) error {
		tools, err := d.list(ctx)
		if err != nil {
			return err
		}
		if tools[tool] == nil {
			return fmt.Errorf("the gateway does not list the tool %q", tool)
		}
		_, err = d.ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
		return err
	}
}

// echoSchema returns a tool's schema to the server unchanged.
func echoSchema(ctx context.Context, d *driver) error {
	tools, err := d.list(ctx)
	if err != nil {
		return err
	}
	_, err = d.ask(ctx, "tools/call", map[string]any{"name": "json_schema_echo",
		"arguments": map[string]any{"schema": tools["json_schema_2020_12_tool"]}})
	return err
}

// list returns the input schema of every tool, by name.
func (d *driver) list(ctx context.Context) (map[string]json.RawMessage, error) {
	raw, err := d.ask(ctx, "tools/list", map[string]any{})
	if err != nil {
		return nil, err
	}
	var listed struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &listed); err != nil {
		return nil, err
	}
	tools := map[string]json.RawMessage{}
	for _, t := range listed.Tools {
		tools[t.Name] = t.InputSchema
	}
	return tools, nil
}

// callAll returns a script that calls every tool in sequence. Tools may fail.
func callAll(args map[string]any) func(context.Context, *driver) error {
	return func(ctx context.Context, d *driver) error {
		tools, err := d.list(ctx)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(tools)) {
			d.try(ctx, "tools/call", map[string]any{"name": name, "arguments": args})
		}
		return nil
	}
}

// try sends a request whose answer may be an error, which is logged.
func (d *driver) try(ctx context.Context, method string, params map[string]any) {
	if _, err := d.ask(ctx, method, params); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// useAll calls a tool, reads a resource and gets a prompt.
func useAll(ctx context.Context, d *driver) error {
	tools, err := d.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tools))[:min(1, len(tools))] {
		d.try(ctx, "tools/call", map[string]any{"name": name, "arguments": map[string]any{}})
	}
	var listed struct {
		Resources []struct{ URI string }
		Prompts   []struct{ Name string }
	}
	for _, method := range []string{"resources/list", "prompts/list"} {
		raw, err := d.ask(ctx, method, map[string]any{})
		if err := errors.Join(err, json.Unmarshal(raw, &listed)); err != nil {
			return err
		}
	}
	if len(listed.Resources) == 0 || len(listed.Prompts) == 0 {
		return errors.New("the gateway lists no resources or no prompts")
	}
	d.try(ctx, "resources/read", map[string]any{"uri": listed.Resources[0].URI})
	d.try(ctx, "prompts/get", map[string]any{"name": listed.Prompts[0].Name, "arguments": map[string]any{}})
	return nil
}

// callGiven makes the calls that the scenario's context specifies.
func callGiven(ctx context.Context, d *driver) error {
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &given); err != nil {
		return fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	if _, err := d.list(ctx); err != nil {
		return err
	}
	for _, c := range given.ToolCalls {
		d.try(ctx, "tools/call", map[string]any{"name": c.Name, "arguments": c.Arguments})
	}
	return nil
}
