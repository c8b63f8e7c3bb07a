package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/protocol"
)

// driverFailed starts the last line of a driver that could not run its scenario.
const driverFailed = "driver failed: "

// driverTime limits a scenario. It is shorter than the suite's limit, so that the driver can stop its gateway itself.
const driverTime = clientTime - 10*time.Second

// driver is an MCP client of its own gateway, which connects to the scenario's server. It reads and writes plain lines, so that no SDK is
// involved. GOBLIN_CONFORMANCE_ERA determines the era.
type driver struct {
	in     io.Writer
	modern bool
	can    map[string]any                              // declared capabilities
	told   func(method string, params json.RawMessage) // receives notifications; nil = ignore them
	log    *gatetest.Output                            // log of the gateway

	mu      sync.Mutex
	lastID  int
	pending map[int]chan reply
	over    error // why no further answers will arrive; nil = answers may arrive
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// driverMain runs a scenario against a gateway whose server is at url, and returns the exit code.
func driverMain(scenario, url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), driverTime)
	defer cancel()
	if strings.HasPrefix(scenario, "auth/") {
		if err := driveAuth(ctx, scenario, url); err != nil {
			fmt.Fprintln(os.Stderr, driverFailed+err.Error())
			return 1
		}
		return 0
	}
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

// drive runs the script through a gateway whose server is at url.
func drive(ctx context.Context, url string, script func(context.Context, *driver) error) error {
	dir, err := os.MkdirTemp("", "gc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := writeConfig(dir, map[string]any{"url": url})
	if err != nil {
		return err
	}
	d := &driver{modern: os.Getenv(driverEra) == "modern", can: driverCan}
	return d.play(ctx, os.Getenv("GOBLIN_CONFORMANCE_BINARY"), dir, config, func(ctx context.Context, d *driver) error {
		if err := d.reached(ctx); err != nil {
			return err
		}
		return script(ctx, d)
	})
}

// reached waits until the gateway's log says that its server is ready or not available. The gateway itself lets its client wait only five
// seconds for a starting server, which is too short when thirty programs start at the same time on a busy machine.
func (d *driver) reached(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if log := d.log.String(); strings.Contains(log, "server is ready") || strings.Contains(log, "server is not available") {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the gateway's log does not say whether its server is available")
		}
	}
}

// play starts a gateway with its state in dir, calls begin and then the script, and stops the gateway.
func (d *driver) play(ctx context.Context, binary, dir, config string, script func(context.Context, *driver) error) (err error) {
	cmd := exec.CommandContext(ctx, binary, "stdio", "--config", config)
	d.log = &gatetest.Output{}
	cmd.Env, cmd.Stderr, cmd.WaitDelay = gatetest.Environment(dir), io.MultiWriter(os.Stderr, d.log), time.Second
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
	d.in, d.pending = in, map[int]chan reply{}
	read := make(chan struct{})
	go func() { defer close(read); d.read(out) }()
	defer func() {
		_ = in.Close()
		<-read
		err = errors.Join(err, cmd.Wait())
	}()
	if err := d.begin(ctx); err != nil {
		return err
	}
	return script(ctx, d)
}

// driverEra is the environment variable with the driver's era: legacy or modern.
const driverEra = "GOBLIN_CONFORMANCE_ERA"

// The driver's client information.
var (
	driverCan  = map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}, "roots": map[string]any{}}
	driverInfo = map[string]any{"name": "goblin-actor-conformance", "version": "1.0.0"}
)

// begin initializes the session or, in the modern era, sends server/discover.
func (d *driver) begin(ctx context.Context) error {
	if d.modern {
		_, err := d.ask(ctx, "server/discover", map[string]any{})
		return err
	}
	if _, err := d.ask(ctx, "initialize", map[string]any{
		"protocolVersion": protocol.LatestLegacy, "capabilities": d.can, "clientInfo": driverInfo,
	}); err != nil {
		return err
	}
	return d.write(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// maxRounds limits how often a modern driver answers input requests and repeats its request.
const maxRounds = 10

// ask sends a request and waits for its answer. A modern driver answers input requests and repeats the request.
func (d *driver) ask(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	if !d.modern {
		return d.once(ctx, method, params)
	}
	sent := maps.Clone(params)
	sent["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": protocol.Version20260728, "io.modelcontextprotocol/clientCapabilities": d.can,
		"io.modelcontextprotocol/clientInfo": driverInfo,
	}
	for range maxRounds {
		raw, err := d.once(ctx, method, sent)
		if err != nil {
			return nil, err
		}
		var result struct {
			ResultType    string
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
			RequestState *string
		}
		if err := json.Unmarshal(raw, &result); err != nil || result.ResultType != "input_required" {
			return raw, err
		}
		answers := map[string]any{}
		for key, q := range result.InputRequests {
			answers[key] = answerTo(nil, q.Method, q.Params)["result"]
		}
		sent["inputResponses"] = answers
		if delete(sent, "requestState"); result.RequestState != nil {
			sent["requestState"] = *result.RequestState
		}
	}
	return nil, fmt.Errorf("%s: the server still requires input after %d rounds", method, maxRounds)
}

// once sends a request and waits for its answer.
func (d *driver) once(ctx context.Context, method string, params any) (json.RawMessage, error) {
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

// read reads the gateway's lines: it passes answers to the waiting requests, and answers server requests immediately.
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
		case d.told != nil:
			d.told(m.Method, m.Params)
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

// write writes one line.
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

// answerTo returns the response to a server request. It accepts an elicitation with the form's default values (SEP-1034).
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
		_ = json.Unmarshal(params, &form) // without a form there is nothing to fill in
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
