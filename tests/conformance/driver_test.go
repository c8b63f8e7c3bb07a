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

// driverFailed begins the driver's last line when it could not play its scenario.
const driverFailed = "driver failed: "

// driverTime bounds a scenario; it is shorter than the suite's patience, so that the driver ends its gateway itself.
const driverTime = clientTime - 10*time.Second

// driver is an MCP client of a gateway of its own, with the scenario's server behind it. It speaks plain lines, so
// that no SDK stands between the scenario and the gateway. GOBLIN_CONFORMANCE_ERA says in which era.
type driver struct {
	in     io.Writer
	modern bool
	can    map[string]any                              // the capabilities it declares
	told   func(method string, params json.RawMessage) // hears notifications; nil = nobody does
	log    *gatetest.Output                            // of the gateway

	mu      sync.Mutex
	lastID  int
	pending map[int]chan reply
	over    error // why there are no more answers; nil while there may be
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// driverMain plays a scenario against a gateway in front of url and returns the exit code.
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

// drive plays the script through a gateway with the server at url behind it.
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

// reached waits until the gateway has the lists of its one server, or says that it has none: lists wait for a server that starts
// for five seconds only, which is not enough for thirty programs that start at once on a busy machine.
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
			return errors.New("the gateway says nothing of its server")
		}
	}
}

// play starts a gateway, shakes hands, plays the script and ends the gateway. What the gateway keeps is kept in dir.
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

// driverEra is the variable of the environment that says what a driver speaks: legacy or modern.
const driverEra = "GOBLIN_CONFORMANCE_ERA"

// What the driver says of itself.
var (
	driverCan  = map[string]any{"sampling": map[string]any{}, "elicitation": map[string]any{}, "roots": map[string]any{}}
	driverInfo = map[string]any{"name": "goblin-actor-conformance", "version": "1.0.0"}
)

// begin shakes hands, or asks what there is.
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

// maxRounds is how often a modern driver answers the questions of one request.
const maxRounds = 10

// ask sends a request and waits for its answer. A modern driver answers what is asked meanwhile and sends it again.
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
	return nil, fmt.Errorf("%s: asked %d times", method, maxRounds)
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
