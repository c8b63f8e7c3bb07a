package bench

import (
	"fmt"
	"slices"

	"goblin-actor/bench/load"
	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// cells measures small calls through one gateway for all four combinations of client era and server era, first with
// HTTP servers, then with stdio servers, unless the options leave out a transport. The base of the ratios is a legacy
// client with a legacy server of the same transport.
func (s *setup) cells(result *report.Report) error {
	servers := map[string]any{}
	for _, era := range []string{"legacy", "modern"} {
		args := []string{"server"}
		if era == "modern" {
			args = append(args, "--modern")
		}
		if s.o.HTTP > 0 {
			web, err := s.Helper(args...)
			if err != nil {
				return err
			}
			servers["h"+era] = map[string]any{"url": web.URL.String(), "type": "http", "maxConcurrent": 0}
		}
		if s.o.Stdio > 0 {
			args = append([]string{"bench"}, append(args, "--stdio")...)
			servers["s"+era] = map[string]any{"command": s.o.Program, "args": args, "maxConcurrent": 0}
		}
	}
	g, err := s.Gateway(servers)
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc([]string{"h", "s"}, func(kind string) bool { return servers[kind+"legacy"] == nil })
	for _, kind := range kinds {
		var targets []*load.Target
		for _, client := range []string{"legacy", "modern"} {
			for _, server := range []string{"legacy", "modern"} {
				t := cell(g.Process, kind, client, server)
				if err := t.Learn(); err != nil {
					return err
				}
				targets = append(targets, t)
			}
		}
		if s.planned == 0 {
			s.plan(len(kinds) * len(s.o.Concurrency) * load.Turns(s.o.Rounds, targets))
		}
		result.Bytes, result.Base = len(wire.ResponseHead)+wire.IDDigits+len(targets[0].Tail), "legacy"
		if err := s.rows(result, targets); err != nil {
			return err
		}
	}
	return nil
}

func cell(at *process.Process, kind, client, server string) *load.Target {
	tool := kind + server + "_echo"
	t := &load.Target{
		Name: fmt.Sprintf("%s client, %s %s server", client, server, map[string]string{"h": "HTTP", "s": "stdio"}[kind]),
		At:   at, Method: "tools/call", Params: []string{wire.CallParams(tool)}, Scrape: true,
	}
	if client == "modern" {
		t.ModernTool = tool
	}
	return t
}
