package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"testing"
)

// driver is a process with clients of the TypeScript SDK: clients/driver.mjs. It is safe for concurrent use.
type driver struct {
	stdin io.WriteCloser
	said  *output

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply    // by request
	reports map[int]func(float64) // by request; kept, because progress may arrive after the answer
	ears    map[string]*ears      // by client
	gone    chan struct{}         // closed when the process ends
}

type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// nodeFault is an error thrown by the TypeScript SDK.
type nodeFault struct{ fault }

func (e *nodeFault) Error() string { return e.Message }

// startDriver runs clients of the TypeScript SDK, "v1" or "v2", until the end of the test.
func startDriver(t *testing.T, generation string) *driver {
	t.Helper()
	needNode(t)
	d := &driver{said: &output{}, waiting: map[int]chan reply{}, reports: map[int]func(float64){}, ears: map[string]*ears{}, gone: make(chan struct{})}
	cmd := exec.Command("node", "clients/driver.mjs", generation)
	cmd.Env, cmd.Stderr = environment(t.TempDir()), d.said
	var err error
	if d.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go d.readAll(stdout)
	t.Cleanup(func() {
		_ = d.stdin.Close()
		<-d.gone
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of the TypeScript clients:\n%s", d.said)
		}
	})
	return d
}

func (d *driver) readAll(stdout io.Reader) {
	defer close(d.gone)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var message struct {
			reply
			ID, Of    int
			On, Heard string
			Progress  float64
		}
		if err := json.Unmarshal(line, &message); err != nil {
			_, _ = d.said.Write(line)
			continue
		}
		d.mu.Lock()
		answer, progress, hearing := d.waiting[message.ID], d.reports[message.Of], d.ears[message.On]
		d.mu.Unlock()
		switch {
		case hearing != nil && message.Heard != "":
			hearing.hear(message.Heard)
		case progress != nil:
			progress(message.Progress)
		case answer != nil:
			answer <- message.reply
		}
	}
}

func (d *driver) send(request map[string]any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.stdin.Write(append(line, '\n'))
	return err
}

// ask sends a request to the driver and decodes its answer into result. When ctx ends, it aborts the SDK's tool call and
// waits for the call's error; for any other request it returns ctx.Err(). progress is called on the driver's reading
// goroutine, until the end of the test; nil = ignore progress.
func (d *driver) ask(ctx context.Context, request map[string]any, progress func(float64), result any) error {
	answer := make(chan reply, 1)
	d.mu.Lock()
	d.last++
	id := d.last
	d.waiting[id] = answer
	if progress != nil {
		d.reports[id] = progress
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, id)
	}()
	request["id"] = id
	if err := d.send(request); err != nil {
		return err
	}
	abort := ctx.Done()
	for {
		select {
		case r := <-answer:
			if r.Error != nil {
				return &nodeFault{fault{r.Error.Code, r.Error.Message}}
			}
			if result == nil {
				return nil
			}
			return json.Unmarshal(r.Result, result)
		case <-abort:
			abort = nil
			if request["op"] != "call" {
				return ctx.Err()
			}
			if err := d.send(map[string]any{"op": "abort", "of": id}); err != nil {
				return err
			}
		case <-d.gone:
			return errors.New("the TypeScript clients have ended")
		}
	}
}

// node is a client of a driver.
type node struct {
	*driver
	on     string
	ear    *ears
	Agreed struct{ Server, Version string }
}

// dialNode connects a client; where holds the members of a connect request to clients/driver.mjs that name the gateway:
// via, and url and key or command, args and env. With SDK v2, m.version is "" (the SDK's default, which is
// initialize), "auto", or the only version to negotiate.
func dialNode(ctx context.Context, d *driver, where map[string]any, m manner) (peer, error) {
	p := &node{driver: d, ear: newEars()}
	d.mu.Lock()
	p.on = "c" + strconv.Itoa(len(d.ears)+1)
	d.ears[p.on] = p.ear
	d.mu.Unlock()
	request := map[string]any{"op": "connect", "on": p.on, "form": m.answers.form, "guess": guess, "cave": cave, "mode": m.version}
	for key, value := range where {
		request[key] = value
	}
	return p, d.ask(ctx, request, nil, &p.Agreed)
}

func (p *node) server() string  { return p.Agreed.Server }
func (p *node) version() string { return p.Agreed.Version }
func (p *node) heard() *ears    { return p.ear }

func (p *node) do(ctx context.Context, op string, request map[string]any, result any) error {
	if request == nil {
		request = map[string]any{}
	}
	request["op"], request["on"] = op, p.on
	return p.ask(ctx, request, nil, result)
}

func (p *node) close() error { return p.do(context.Background(), "close", nil, nil) }

func (*node) fault(err error) fault {
	if e, ok := errors.AsType[*nodeFault](err); ok {
		return e.fault
	}
	return fault{0, fmt.Sprint(err)}
}

func (p *node) list(ctx context.Context, what string) (names []string, err error) {
	err = p.do(ctx, "list", map[string]any{"what": what}, &names)
	return names, err
}

func (p *node) call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error) {
	var result struct {
		Content []struct{ Text, URI string }
		IsError bool
	}
	if args == nil {
		args = map[string]any{}
	}
	err := p.ask(ctx, map[string]any{"op": "call", "on": p.on, "name": tool, "arguments": args, "progress": progress != nil}, progress, &result)
	if err != nil {
		return nil, err
	}
	var pieces []content
	for _, c := range result.Content {
		pieces = append(pieces, content{text: c.Text, uri: c.URI})
	}
	if result.IsError {
		return pieces, fmt.Errorf("isError: %s", text(pieces))
	}
	return pieces, nil
}

func (p *node) read(ctx context.Context, uri string) (content, error) {
	var c struct{ URI, Text, Blob string }
	err := p.do(ctx, "read", map[string]any{"uri": uri}, &c)
	return content{c.Text, c.URI, c.Blob}, err
}

func (p *node) prompt(ctx context.Context, name string, args map[string]string) (said string, err error) {
	err = p.do(ctx, "prompt", map[string]any{"name": name, "arguments": args}, &said)
	return said, err
}

func (p *node) complete(ctx context.Context, of reference, argument, value string) (values []string, err error) {
	ref := map[string]string{"type": "ref/prompt", "name": of.prompt}
	if of.template != "" {
		ref = map[string]string{"type": "ref/resource", "uri": of.template}
	}
	err = p.do(ctx, "complete", map[string]any{"ref": ref, "argument": map[string]string{"name": argument, "value": value}}, &values)
	return values, err
}

func (p *node) level(ctx context.Context, level string) error {
	return p.do(ctx, "level", map[string]any{"level": level}, nil)
}

func (p *node) listen(ctx context.Context, uri string) error {
	return p.do(ctx, "listen", map[string]any{"uri": uri}, nil)
}
