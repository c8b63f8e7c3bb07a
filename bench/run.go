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

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// Run runs the measurement that o describes and returns the report. It blocks until it is done or ctx ends, and stops
// all processes that it started. It writes lines about the measurement to progress. If progress is a Stepper, Run also
// calls its method Step.
func Run(ctx context.Context, o Options, progress io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return runIn(ctx, o, progress, func(s *setup, result *report.Report) (err error) {
		switch o.Kind {
		case "idle":
			result.Idle, err = s.idle()
		case "cold":
			result.Cold, err = s.cold()
		case "list":
			err = s.list(result)
		case "cells":
			err = s.cells(result)
		case "identity":
			err = s.identity(result)
		case "telemetry":
			err = s.telemetry(result)
		default:
			err = s.calls(result)
		}
		return err
	})
}

// runIn calls measure to fill in a report. Afterwards it stops all processes and removes the files of the run.
func runIn(ctx context.Context, o Options, progress io.Writer, measure func(*setup, *report.Report) error) (*report.Report, error) {
	group, err := process.NewGroup(ctx, o.Program, o.gateway())
	if err != nil {
		return nil, err
	}
	defer group.Close()
	s := &setup{Group: group, o: o, ctx: ctx, progress: progress}
	s.Settings = map[string]any{"pageSize": max(1000, o.Servers*o.Tools)}
	result := report.New(o.Kind, o.Command, o.Commit)
	if o.Gateway != "" {
		if result.Gateway, err = process.VersionOf(ctx, o.Gateway); err != nil {
			return nil, err
		}
	}
	err = measure(s, result)
	return result, err
}

// setup is the state of one run.
type setup struct {
	*process.Group
	o        Options
	ctx      context.Context
	progress io.Writer

	done, planned int // steps of the whole run
}

// Stepper is a progress writer that also receives the number of completed steps.
type Stepper interface {
	// Step receives the number of completed steps and the number of all steps. A run that fails does not complete all
	// steps.
	Step(done, all int)
}

// plan adds to the number of planned steps.
func (s *setup) plan(n int) { s.planned += n }

// step reports one more completed step.
func (s *setup) step() {
	s.done++
	if p, ok := s.progress.(Stepper); ok {
		p.Step(s.done, max(s.done, s.planned))
	}
}

// calls measures tools/call with small or big results on every target.
func (s *setup) calls(result *report.Report) error {
	tool, tail := "echo", wire.SmallTail()
	if s.o.Kind == "big" {
		tool, tail = "big", wire.BigTail()
	}
	result.Bytes, result.Base = len(wire.ResponseHead)+wire.IDDigits+len(tail), report.Direct
	targets, err := s.callTargets(tool, tail)
	if err != nil {
		return err
	}
	s.plan(len(s.o.Concurrency) * load.Turns(s.o.Rounds, targets))
	return s.rows(result, targets)
}

// callTargets starts servers, gateway and proxies. The first target is Direct.
func (s *setup) callTargets(tool string, tail []byte) ([]*load.Target, error) {
	servers := map[string]any{}
	var overHTTP, overStdio []string
	web, err := s.Helper("server")
	if err != nil {
		return nil, err
	}
	for i := range s.o.HTTP {
		at := web
		if i > 0 {
			if at, err = s.Helper("server"); err != nil {
				return nil, err
			}
		}
		name := "h" + strconv.Itoa(i)
		servers[name] = map[string]any{"url": at.URL.String(), "type": "http", "maxConcurrent": 0}
		overHTTP = append(overHTTP, wire.CallParams(name+"_"+tool))
	}
	for i := range s.o.Stdio {
		name := "s" + strconv.Itoa(i)
		servers[name] = map[string]any{"command": s.o.Program, "args": []string{"bench", "server", "--stdio"}, "maxConcurrent": 0}
		overStdio = append(overStdio, wire.CallParams(name+"_"+tool))
	}
	g, err := s.Gateway(servers)
	if err != nil {
		return nil, err
	}
	call := func(name string, at *process.Process, params ...string) *load.Target {
		return &load.Target{Name: name, At: at, Method: "tools/call", Params: params, Tail: tail}
	}
	targets := []*load.Target{call(report.Direct, web, wire.CallParams(tool))}
	if len(overHTTP) > 0 {
		targets = append(targets, call("gateway, http", g.Process, overHTTP...))
	}
	if len(overStdio) > 0 {
		targets = append(targets, call("gateway, stdio", g.Process, overStdio...))
	}
	for _, t := range targets[1:] {
		t.Scrape = true
	}
	helpers := map[string][]string{report.ReverseProxy: {"proxy"}, report.Forwarder: {"forwarder"}, report.WholeForwarder: {"forwarder", "--whole"}}
	for _, name := range report.Comparable {
		if !slices.Contains(s.o.Compare, name) || name == report.Direct {
			continue
		}
		proxy, err := s.Helper(append(helpers[name], web.URL.String())...)
		if err != nil {
			return nil, err
		}
		t := call(name, proxy, wire.CallParams(tool))
		t.MayBreak = name == report.ReverseProxy
		targets = append(targets, t)
	}
	return targets, nil
}

// rows measures the targets at every concurrency and adds the rows to the report.
func (s *setup) rows(result *report.Report, targets []*load.Target) error {
	result.Rounds, result.Seconds = s.o.Rounds, s.o.Duration.Seconds()
	for _, clients := range s.o.Concurrency {
		fmt.Fprintf(s.progress, "bench %s: %d clients, %d targets, %s each\n", s.o.Kind, clients, len(targets), s.o.Duration)
		if err := load.Measure(s.ctx, targets, clients, s.o.Duration, s.o.Rounds, s.step); err != nil {
			return err
		}
		result.Rows = append(result.Rows, rowsOf(targets, clients)...)
	}
	return nil
}

// list measures tools/list of the gateway and of a static handler that writes the same bytes. The static handler is the
// base of the ratios.
func (s *setup) list(result *report.Report) error {
	web, err := s.Helper("server", "--tools", strconv.Itoa(s.o.Tools))
	if err != nil {
		return err
	}
	servers := map[string]any{}
	for i := range s.o.Servers {
		servers["server-"+strconv.Itoa(i)] = map[string]any{"url": fmt.Sprintf("%s/%d", web.URL, i), "type": "http"}
	}
	g, err := s.Gateway(servers)
	if err != nil {
		return err
	}
	answer, err := firstList(g.Process, s.o.Servers*s.o.Tools)
	if err != nil {
		return err
	}
	result.Bytes, result.Base = len(answer), "static"
	file := filepath.Join(s.Dir, "list.json")
	if err := os.WriteFile(file, answer, 0o600); err != nil {
		return err
	}
	static, err := s.Helper("static", file)
	if err != nil {
		return err
	}
	tail := answer[len(wire.ResponseHead)+wire.IDDigits:]
	list := func(name string, at *process.Process) *load.Target {
		return &load.Target{Name: name, At: at, Method: "tools/list", Params: []string{"{}"}, Tail: tail}
	}
	targets := []*load.Target{list("static handler", static), list("gateway", g.Process)}
	targets[0].Static, targets[1].Scrape = true, true
	s.plan(len(s.o.Concurrency) * load.Turns(s.o.Rounds, targets))
	return s.rows(result, targets)
}

// firstList returns the gateway's response to tools/list, or an error unless it has all tools on one page.
func firstList(p *process.Process, tools int) ([]byte, error) {
	w, err := wire.Dial("tcp", p.URL.Host)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := w.Handshake(p.URL.Host, p.URL.Path); err != nil {
		return nil, err
	}
	session := w.Session
	body, err := w.Exchange(wire.NewRequest(p.URL.Host, p.URL.Path, session, wire.LegacyVersion, "tools/list", "{}").Text)
	if err != nil {
		return nil, err
	}
	answer := slices.Clone(body)
	_, _ = w.Exchange(wire.DeleteRequest(p.URL.Host, p.URL.Path, session))
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
		return nil, fmt.Errorf("tools/list: got %d tools and cursor %q, expected %d on one page", n, parsed.Result.NextCursor, tools)
	}
	return answer, nil
}
