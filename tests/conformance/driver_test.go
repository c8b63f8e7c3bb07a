package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"goblin-actor/protocol"
)

// driverFailed begins the driver's last line when it could not play its scenario.
const driverFailed = "driver failed: "

// driverTime bounds a scenario; it is shorter than the suite's patience, so that the driver ends its gateway itself.
const driverTime = clientTime - 10*time.Second

// driver is an MCP client of a gateway of its own, with the scenario's server behind it. It speaks plain lines, so
// that no SDK stands between the scenario and the gateway.
type driver struct {
	in io.Writer

	mu      sync.Mutex
	lastID  int
	pending map[int]chan reply
	over    error // why there are no more answers; nil while there may be
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// scripts are what a client does in a scenario, after the handshake. Every other scenario lists and calls.
var scripts = map[string]func(context.Context, *driver) error{
	"initialize":                          func(ctx context.Context, d *driver) error { _, err := d.list(ctx); return err },
	"tools_call":                          calls("add_numbers", map[string]any{"a": 5, "b": 3}),
	"elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults", map[string]any{}),
	"sse-retry":                           calls("test_reconnection", map[string]any{}),
	"json-schema-2020-12-preservation":    echoSchema,
}

// driverMain plays a scenario against a gateway in front of url and returns the exit code.
func driverMain(scenario, url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), driverTime)
	defer cancel()
	script, ok := scripts[scenario]
	if !ok {
		script = calls("test-tool", map[string]any{})
	}
	if err := drive(ctx, url, script); err != nil {
		fmt.Fprintln(os.Stderr, driverFailed+err.Error())
		return 1
	}
	return 0
}

// drive starts the gateway, shakes hands, plays the script and ends the gateway.
func drive(ctx context.Context, url string, script func(context.Context, *driver) error) (err error) {
	dir, err := os.MkdirTemp("", "gc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := writeConfig(dir, map[string]any{"url": url})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, os.Getenv("GOBLIN_CONFORMANCE_BINARY"), "stdio", "--config", config)
	cmd.Env, cmd.Stderr, cmd.WaitDelay = environment(dir), os.Stderr, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d := &driver{in: in, pending: map[int]chan reply{}}
	read := make(chan struct{})
	go func() { defer close(read); d.read(out) }()
	defer func() {
		_ = in.Close()
		<-read
		err = errors.Join(err, cmd.Wait())
	}()
	if _, err := d.ask(ctx, "initialize", map[string]any{
		"protocolVersion": protocol.LatestLegacy,
		"capabilities":    map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}, "roots": map[string]any{}},
		"clientInfo":      map[string]any{"name": "goblin-actor-conformance", "version": "1.0.0"},
	}); err != nil {
		return err
	}
	if err := d.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return err
	}
	return script(ctx, d)
}

// calls returns a script that lists the tools and calls one of them.
func calls(tool string, args map[string]any) func(context.Context, *driver) error {
	return func(ctx context.Context, d *driver) error {
		tools, err := d.list(ctx)
		if err != nil {
			return err
		}
		if tools[tool] == nil {
			return fmt.Errorf("the gateway lists no tool %q", tool)
		}
		_, err = d.ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
		return err
	}
}

// echoSchema sends a tool's schema back as it came.
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

// ask sends a request and waits for its answer.
func (d *driver) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan reply, 1)
	d.mu.Lock()
	d.lastID++
	id := d.lastID
	d.pending[id] = answer
	over := d.over
	d.mu.Unlock()
	if over != nil {
		return nil, fmt.Errorf("%s: %w", method, over)
	}
	if err := d.write(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", method, ctx.Err())
	case r, ok := <-answer:
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: %w", method, d.over)
		case r.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, r.Error)
		}
		return r.Result, nil
	}
}

// read takes the gateway's lines until there are no more: answers go to who asked, questions are answered at once.
func (d *driver) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			reply
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			fmt.Fprintf(os.Stderr, "the gateway wrote %q: %v\n", lines.Text(), err)
			continue
		}
		switch {
		case m.Method == "":
			d.answered(m.ID, m.reply)
		case m.ID != nil:
			_ = d.write(answerTo(m.ID, m.Method, m.Params))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = errors.New("the gateway has ended")
	for id, answer := range d.pending {
		delete(d.pending, id)
		close(answer)
	}
}

func (d *driver) answered(id json.RawMessage, r reply) {
	var n int
	if json.Unmarshal(id, &n) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer := d.pending[n]; answer != nil {
		delete(d.pending, n)
		answer <- r
	}
}

// write sends one line.
func (d *driver) write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.in.Write(append(line, '\n'))
	return err
}

// answerTo answers what a server asks through the gateway: a form is accepted with its defaults (SEP-1034).
func answerTo(id json.RawMessage, method string, params json.RawMessage) map[string]any {
	answer := map[string]any{"jsonrpc": "2.0", "id": id}
	switch method {
	case "ping":
		answer["result"] = map[string]any{}
	case "roots/list":
		answer["result"] = map[string]any{"roots": []any{}}
	case "sampling/createMessage":
		answer["result"] = map[string]any{"role": "assistant", "model": "none", "content": map[string]any{"type": "text", "text": "yes"}}
	case "elicitation/create":
		var form struct {
			RequestedSchema struct {
				Properties map[string]struct{ Default json.RawMessage }
			}
		}
		_ = json.Unmarshal(params, &form) // no form = nothing to fill in
		content := map[string]any{"confirmed": true}
		for name, property := range form.RequestedSchema.Properties {
			if property.Default != nil {
				content[name] = property.Default
			}
		}
		answer["result"] = map[string]any{"action": "accept", "content": content}
	default:
		answer["error"] = map[string]any{"code": -32601, "message": "method not found"}
	}
	return answer
}
