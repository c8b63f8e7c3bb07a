package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Run measures what o says and returns the report. Blocks until done or ctx ends; all processes it started have ended then.
// What it is doing is told on progress, a line at a time; a Stepper is told more often.
func Run(ctx context.Context, o Options, progress io.Writer) (*Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return runIn(ctx, o, progress, func(s *setup, report *Report) (err error) {
		switch o.Kind {
		case "idle":
			report.Idle, err = s.idle()
		case "cold":
			report.Cold, err = s.cold()
		case "list":
			err = s.list(report)
		case "cells":
			err = s.cells(report)
		case "identity":
			err = s.identity(report)
		default:
			err = s.calls(report)
		}
		return err
	})
}

// runIn has measure fill in a report, with a directory of its own, which is removed, and processes, which are ended.
func runIn(ctx context.Context, o Options, progress io.Writer, measure func(*setup, *Report) error) (*Report, error) {
	dir, err := os.MkdirTemp("", "ga") // a short name: a socket goes into it
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s := &setup{o: o, ctx: ctx, dir: dir, progress: progress}
	defer s.stop()
	report := newReport(o)
	if o.Gateway != "" {
		if report.Gateway, err = versionOf(ctx, o.Gateway); err != nil {
			return nil, err
		}
	}
	err = measure(s, report)
	return report, err
}

// setup is what runs during one Run.
type setup struct {
	o        Options
	ctx      context.Context
	dir      string
	progress io.Writer
	settings map[string]any // of the gateway's configuration, besides its servers
	running  []*process     // in the order of their start

	done, planned int // steps of the whole run
}

// Stepper is told how far a run is, by a progress writer that has a use for it.
type Stepper interface {
	// Step says that so many of the steps of the run are done. All of them are not, when the run ends at an error.
	Step(done, all int)
}

// plan adds steps to those that step will count.
func (s *setup) plan(n int) { s.planned += n }

// step tells the progress that one more is done.
func (s *setup) step() {
	s.done++
	if p, ok := s.progress.(Stepper); ok {
		p.Step(s.done, max(s.done, s.planned))
	}
}

// stop ends all processes, the last one first.
func (s *setup) stop() {
	for _, p := range slices.Backward(s.running) {
		p.stop()
	}
}

// helper starts one of this binary's hidden bench commands.
func (s *setup) helper(args ...string) (*process, error) {
	p, err := start(s.ctx, nil, s.o.Program, append([]string{"bench"}, args...)...)
	if err == nil {
		s.running = append(s.running, p)
	}
	return p, err
}

func (s *setup) gateway(servers map[string]any) (*gateway, error) {
	g, err := startGateway(s.ctx, s.o, s.dir, servers, s.settings)
	if err == nil {
		s.running = append(s.running, g.process)
	}
	return g, err
}

// calls measures tools/call, small or big, over every target.
func (s *setup) calls(report *Report) error {
	tool, raw := "echo", newRawServer(ServerOptions{})
	tail := raw.small
	if s.o.Kind == "big" {
		tool, tail = "big", raw.big
	}
	report.Bytes, report.Base = len(answerHead)+idDigits+len(tail), Direct
	targets, err := s.callTargets(tool, tail)
	if err != nil {
		return err
	}
	s.plan(len(s.o.Concurrency) * turns(s.o, targets))
	return s.rows(report, targets)
}

// callTargets starts servers, gateway and proxy. Direct comes first.
func (s *setup) callTargets(tool string, tail []byte) ([]*target, error) {
	servers := map[string]any{}
	var overHTTP, overStdio []string
	web, err := s.helper("server")
	if err != nil {
		return nil, err
	}
	for i := range s.o.HTTP {
		at := web
		if i > 0 {
			if at, err = s.helper("server"); err != nil {
				return nil, err
			}
		}
		name := "h" + strconv.Itoa(i)
		servers[name] = map[string]any{"url": at.url.String(), "type": "http", "maxConcurrent": 0}
		overHTTP = append(overHTTP, callParams(name+"_"+tool))
	}
	for i := range s.o.Stdio {
		name := "s" + strconv.Itoa(i)
		servers[name] = map[string]any{"command": s.o.Program, "args": []string{"bench", "server", "--stdio"}, "maxConcurrent": 0}
		overStdio = append(overStdio, callParams(name+"_"+tool))
	}
	g, err := s.gateway(servers)
	if err != nil {
		return nil, err
	}
	call := func(name string, at *process, params ...string) *target {
		return &target{name: name, at: at, method: "tools/call", params: params, tail: tail}
	}
	targets := []*target{call(Direct, web, callParams(tool))}
	if len(overHTTP) > 0 {
		targets = append(targets, call("gateway, http", g.process, overHTTP...))
	}
	if len(overStdio) > 0 {
		targets = append(targets, call("gateway, stdio", g.process, overStdio...))
	}
	for _, t := range targets[1:] {
		t.scrape = true
	}
	helpers := map[string][]string{ReverseProxy: {"proxy"}, Forwarder: {"forwarder"}, WholeForwarder: {"forwarder", "--whole"}}
	for _, name := range Comparable {
		if !slices.Contains(s.o.Compare, name) || name == Direct {
			continue
		}
		proxy, err := s.helper(append(helpers[name], web.url.String())...)
		if err != nil {
			return nil, err
		}
		t := call(name, proxy, callParams(tool))
		t.breaks = name == ReverseProxy
		targets = append(targets, t)
	}
	return targets, nil
}

// callParams returns params of a tools/call that makes a request of about smallBytes.
func callParams(tool string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":{"text":"%0*d"}}`, tool, smallBytes-115, 0)
}

// rows measures the targets at every concurrency.
func (s *setup) rows(report *Report, targets []*target) error {
	report.Rounds, report.Seconds = s.o.Rounds, s.o.Duration.Seconds()
	for _, clients := range s.o.Concurrency {
		fmt.Fprintf(s.progress, "bench %s: %d clients, %d targets, %s each\n", s.o.Kind, clients, len(targets), s.o.Duration)
		if err := measure(s.ctx, s.o, targets, clients, s.step); err != nil {
			return err
		}
		report.Rows = append(report.Rows, rowsOf(targets, clients)...)
	}
	return nil
}

// list measures tools/list of the gateway against a static handler that writes the same bytes. The first target, what the
// gateway is divided by, is the static handler.
func (s *setup) list(report *Report) error {
	web, err := s.helper("server", "--tools", strconv.Itoa(s.o.Tools))
	if err != nil {
		return err
	}
	servers := map[string]any{}
	for i := range s.o.Servers {
		servers["server-"+strconv.Itoa(i)] = map[string]any{"url": fmt.Sprintf("%s/%d", web.url, i), "type": "http"}
	}
	g, err := s.gateway(servers)
	if err != nil {
		return err
	}
	answer, err := firstList(g.process, s.o.Servers*s.o.Tools)
	if err != nil {
		return err
	}
	report.Bytes, report.Base = len(answer), "static"
	file := filepath.Join(s.dir, "list.json")
	if err := os.WriteFile(file, answer, 0o600); err != nil {
		return err
	}
	static, err := s.helper("static", file)
	if err != nil {
		return err
	}
	tail := answer[len(answerHead)+idDigits:]
	list := func(name string, at *process) *target {
		return &target{name: name, at: at, method: "tools/list", params: []string{"{}"}, tail: tail}
	}
	targets := []*target{list("static handler", static), list("gateway", g.process)}
	targets[0].static, targets[1].scrape = true, true
	s.plan(len(s.o.Concurrency) * turns(s.o, targets))
	return s.rows(report, targets)
}

// firstList returns the gateway's answer to tools/list, checked to be complete: so many tools on one page.
func firstList(p *process, tools int) ([]byte, error) {
	w, err := dial("tcp", p.url.Host)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.handshake(p.url.Host, p.url.Path); err != nil {
		return nil, err
	}
	session := w.session
	body, err := w.exchange(newRequest(p.url.Host, p.url.Path, session, protocolVersion, "tools/list", "{}").text)
	if err != nil {
		return nil, err
	}
	answer := slices.Clone(body)
	_, _ = w.exchange(deleteRequest(p.url.Host, p.url.Path, session))
	var parsed struct {
		Result struct {
			Tools      []json.RawMessage
			NextCursor string
		}
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	if n := len(parsed.Result.Tools); n != tools || parsed.Result.NextCursor != "" {
		return nil, fmt.Errorf("tools/list: got %d tools and cursor %q, want %d on one page", n, parsed.Result.NextCursor, tools)
	}
	return answer, nil
}
