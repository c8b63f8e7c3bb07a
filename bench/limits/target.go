package limits

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"goblin-actor/bench/load"
	"goblin-actor/bench/report"
	"goblin-actor/bench/wire"
)

// climbs starts the processes to measure and returns a climb for each server and era.
func (s *limits) climbs() ([]*climb, error) {
	switch {
	case s.o.Config != "":
		return s.ofConfig()
	case s.o.Target != nil:
		return s.ofTarget()
	}
	return s.ofOwn()
}

// ofOwn starts raw servers and a gateway.
func (s *limits) ofOwn() ([]*climb, error) {
	servers := map[string]any{}
	var climbs []*climb
	for _, transport := range s.o.Transports {
		for _, era := range s.o.Eras {
			client, server, crossing := strings.Cut(era, "-")
			if !crossing {
				server = client
			}
			args := []string{"server"}
			if server == "modern" {
				args = append(args, "--modern")
			}
			for _, most := range s.o.Concurrent {
				c := &climb{modern: client == "modern", measured: &watched{}}
				name := fmt.Sprintf("%s-%s-%d", transport, server, most)
				if transport == "http" {
					web, err := s.Helper(args...)
					if err != nil {
						return nil, err
					}
					servers[name] = map[string]any{"url": web.URL.String(), "type": "http", "maxConcurrent": most}
					c.direct, c.measured.servers = load.NewEndpoint(web.URL, nil), []int{web.PID()}
					if server != client {
						c.direct = nil
					}
				} else {
					servers[name] = map[string]any{"command": s.o.Program, "args": append([]string{"bench"}, append(args, "--stdio")...), "maxConcurrent": most}
				}
				c.tool = tool{Name: name + "_echo", original: "echo"}
				c.server = Server{Name: name, Stdio: transport == "stdio", Local: true, MaxConcurrent: most, Replicas: 1}
				c.series = report.LimitSeries{Server: name, Tool: c.tool.Name, Transport: transport, Era: era, MaxConcurrent: most}
				climbs = append(climbs, c)
			}
		}
	}
	// All modern clients at one address count as one client.
	s.Settings = map[string]any{"limits": map[string]any{"maxInFlightPerClient": 25_000}}
	g, err := s.Gateway(servers)
	if err != nil {
		return nil, err
	}
	for _, c := range climbs {
		c.at = load.NewEndpoint(g.URL, nil)
		c.measured.gateway, c.measured.metrics, c.measured.server = g.PID(), g.URL.Host, c.server.Name
	}
	return climbs, nil
}

// ofConfig starts a gateway with the configuration, but with its own listener and state file, and chooses a tool of each
// server with toolOf.
func (s *limits) ofConfig() ([]*climb, error) {
	s.o.Progress(0, 1, "starting the servers")
	g, err := s.Start(s.o.Program, "serve", "--config", s.o.Config, "--listen", "127.0.0.1:0", "--state-dir", s.Dir)
	if err != nil {
		return nil, err
	}
	if _, _, err := g.AwaitReady(s.ctx, settleTime); err != nil { // if some servers are not ready in time, the others are measured
		return nil, fmt.Errorf("%w\n%s", err, g.Stderr)
	}
	at := load.NewEndpoint(g.URL, nil)
	tools, err := listTools(at, false)
	if err != nil {
		return nil, err
	}
	if _, err := s.ownTool(tools); err != nil {
		return nil, err
	}
	var climbs []*climb
	for _, server := range s.o.Servers {
		t, ok := s.toolOf(tools, server)
		if !ok {
			continue
		}
		watch := watched{gateway: g.PID(), metrics: g.URL.Host, server: server.Name}
		var direct *load.Endpoint
		if u, err := url.Parse(server.URL); err == nil && server.URL != "" {
			direct = load.NewEndpoint(u, server.Headers)
			if pid := listener(u.Port()); pid != 0 {
				watch.servers = []int{pid}
			}
		}
		transport := "http"
		if server.Stdio {
			transport = "stdio"
		}
		climbs = append(climbs, s.eras(at, t, report.LimitSeries{Server: server.Name, Transport: transport, MaxConcurrent: server.MaxConcurrent},
			func(c *climb) { c.server, c.direct, c.measured = server, direct, &watch })...)
	}
	return climbs, s.checkClimbs(climbs)
}

// settleTime limits the wait for the servers of a configuration. It includes time for downloads by npx.
const settleTime = 90 * time.Second

// ownTool returns the tool in the options, or the zero value if there is none.
func (s *limits) ownTool(tools []tool) (tool, error) {
	if s.o.Tool == "" {
		return tool{}, nil
	}
	return named(tools, s.o.Tool)
}

// toolOf returns the tool to call at the server: the tool in the options if it belongs to the server, or a safe one if
// the options name no tool. If no tool can be called safely, it adds the reason to the notes. A server that the options
// exclude gets no note.
func (s *limits) toolOf(tools []tool, server Server) (tool, bool) {
	if len(s.o.Only) > 0 && !slices.Contains(s.o.Only, server.Name) {
		return tool{}, false
	}
	if s.o.Tool != "" {
		t, err := named(tools, s.o.Tool)
		return t, err == nil && t.Meta.Server == server.Name
	}
	first := slices.IndexFunc(tools, func(t tool) bool { return t.Meta.Server == server.Name })
	example := "--tool NAME"
	if first >= 0 {
		example = "--tool " + tools[first].Name
	}
	switch t, ok := choose(tools, server.Name); {
	case !server.Local:
		s.note("%s was not measured: it does not run on this machine, so the load would affect others; to measure it anyway, name a tool: %s", server.Name, example)
	case first < 0:
		s.note("%s was not measured: it did not start or has no tools; run goblin-actor doctor for details", server.Name)
	case !ok:
		s.note("%s was not measured: it has no tool that is declared read-only (readOnlyHint), is not declared open-world (openWorldHint), and has arguments that can be generated; name a tool that may be called often: %s --args '{…}'", server.Name, example)
	default:
		return t, true
	}
	return tool{}, false
}

// ofTarget chooses a tool of the endpoint with toolOf. If the endpoint is a goblin-actor gateway, it chooses a tool of
// each server.
func (s *limits) ofTarget() ([]*climb, error) {
	at := load.NewEndpoint(s.o.Target, s.o.Headers)
	tools, err := listTools(at, false)
	if err != nil {
		var modern error
		if tools, modern = listTools(at, true); modern != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoTarget, err)
		}
	}
	pid, metrics := 0, ""
	if host := s.o.Target.Hostname(); host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") {
		pid = listener(s.o.Target.Port())
		if len(wire.Scrape(s.o.Target.Host)) > 0 && s.o.Target.Scheme == "http" {
			metrics = s.o.Target.Host
		}
	}
	own, err := s.ownTool(tools)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, t := range tools {
		if !slices.Contains(names, t.Meta.Server) && t.Meta.Server != "goblin" {
			names = append(names, t.Meta.Server)
		}
	}
	if own.Name != "" {
		names = []string{own.Meta.Server}
	}
	var climbs []*climb
	for _, name := range names {
		if name == "" && len(s.o.Only) > 0 {
			return nil, errors.New("--server: this endpoint does not say which server its tools belong to; omit --server")
		}
		server := Server{Name: name, Local: true, Replicas: 1, Target: true}
		t, ok := s.toolOf(tools, server)
		if !ok {
			continue
		}
		server.Name = shown(name)
		watch := &watched{gateway: pid, metrics: metrics, server: name}
		climbs = append(climbs, s.eras(at, t, report.LimitSeries{Server: server.Name}, func(c *climb) { c.server, c.measured = server, watch })...)
	}
	return climbs, s.checkClimbs(climbs)
}

// shown returns the name of a server, or a description if the endpoint did not name it.
func shown(name string) string {
	if name == "" {
		return "the target"
	}
	return name
}

// eras returns a climb for each era of clients in which the first call succeeds.
func (s *limits) eras(at *load.Endpoint, t tool, series report.LimitSeries, complete func(*climb)) []*climb {
	if s.o.Args != "" {
		t.args = s.o.Args
	}
	var climbs []*climb
	for _, era := range s.o.Eras {
		if err := probe(at, t, era == "modern"); err != nil {
			s.note("%s, %s clients: not measured, because the first call of %s failed: %v", series.Server, era, t.Name, err)
			continue
		}
		series.Tool, series.Era = t.Name, era
		c := &climb{series: series, tool: t, modern: era == "modern", at: at}
		complete(c)
		climbs = append(climbs, c)
	}
	return climbs
}

func (s *limits) note(format string, args ...any) {
	s.found.Notes = append(s.found.Notes, fmt.Sprintf(format, args...))
}

// checkClimbs returns an error if there are no climbs.
func (s *limits) checkClimbs(climbs []*climb) error {
	if len(climbs) > 0 {
		return nil
	}
	if len(s.found.Notes) == 0 {
		return ErrNothing
	}
	return fmt.Errorf("%w:\n%s", ErrNothing, strings.Join(s.found.Notes, "\n"))
}
