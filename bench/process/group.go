package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Group is a set of processes that belong to one run. They share a directory and end with the group.
type Group struct {
	Dir      string         // directory for the files of the run; its path is short, because it contains sockets
	Settings map[string]any // configuration of the gateways that the method Gateway starts, except for their servers
	Env      []string       // environment variables for gateways started later, in addition to those of this process

	ctx     context.Context
	program string // raw servers and proxies are hidden commands of this program
	gateway string // the program that is started as the gateway
	running []*Process
}

// NewGroup returns a group without processes. program is this binary; gateway is the binary to start as the gateway, or
// "" for program. The caller must call Close. When ctx ends, the processes are killed.
func NewGroup(ctx context.Context, program, gateway string) (*Group, error) {
	dir, err := os.MkdirTemp("", "ga")
	if err != nil {
		return nil, err
	}
	if gateway == "" {
		gateway = program
	}
	return &Group{Dir: dir, ctx: ctx, program: program, gateway: gateway}, nil
}

// Close stops all processes, the last one started first, and removes the directory.
func (g *Group) Close() {
	g.stopFrom(0)
	_ = os.RemoveAll(g.Dir)
}

// Scope calls run and stops the processes that it started.
func (g *Group) Scope(run func() error) error {
	defer g.stopFrom(len(g.running))
	return run()
}

// stopFrom stops all processes from the nth on, the last one started first.
func (g *Group) stopFrom(n int) {
	for _, p := range slices.Backward(g.running[n:]) {
		p.Stop()
	}
	g.running = g.running[:n]
}

// Len returns the number of running processes.
func (g *Group) Len() int { return len(g.running) }

// Start starts a program that prints its URL.
func (g *Group) Start(program string, args ...string) (*Process, error) {
	return g.add(start(g.ctx, nil, program, args...))
}

// Helper starts one of the hidden bench commands of this binary.
func (g *Group) Helper(args ...string) (*Process, error) {
	return g.Start(g.program, append([]string{"bench"}, args...)...)
}

func (g *Group) add(p *Process, err error) (*Process, error) {
	if err == nil {
		g.running = append(g.running, p)
	}
	return p, err
}

// Gateway starts a gateway with the servers and the group's settings, and waits until it is ready.
func (g *Group) Gateway(servers map[string]any) (*Gateway, error) {
	return g.GatewayIn(g.Dir, servers, g.Settings)
}

// GatewayIn is like Gateway, with another directory and other settings.
func (g *Group) GatewayIn(dir string, servers, settings map[string]any) (*Gateway, error) {
	return g.GatewayOf(g.gateway, dir, servers, settings)
}

// GatewayOf is like GatewayIn, with another binary.
func (g *Group) GatewayOf(program, dir string, servers, settings map[string]any) (*Gateway, error) {
	gate, err := startGateway(g.ctx, g.Env, program, dir, servers, settings)
	if err == nil {
		g.running = append(g.running, gate.Process)
	}
	return gate, err
}

// RunGateway starts this binary as a gateway with a command that takes a configuration, and returns once the gateway
// listens.
func (g *Group) RunGateway(command []string, dir string, servers, settings map[string]any) (*Gateway, error) {
	gate, err := runGateway(g.ctx, g.Env, g.program, command, dir, servers, settings)
	if err == nil {
		g.running = append(g.running, gate.Process)
	}
	return gate, err
}

// Sleep waits for d, or until the run ends.
func (g *Group) Sleep(d time.Duration) {
	select {
	case <-g.ctx.Done():
	case <-time.After(d):
	}
}

// NewRawServer starts a server of the given kind. A server on stdio is only prepared, because the gateway starts it.
// more is added to the server's command line.
func (g *Group) NewRawServer(kind, name string, more ...string) (*RawServer, error) {
	s := newRawServerOf(kind, name, filepath.Join(g.Dir, name+".sock"), more)
	if s.onStdio() {
		s.Entry = map[string]any{"command": g.program, "args": append([]string{"bench"}, s.args...), "maxConcurrent": 0}
		return s, nil
	}
	var err error
	if s.At, err = g.Helper(s.args...); err != nil {
		return nil, err
	}
	s.Entry = map[string]any{"url": s.At.URL.String(), "type": s.configType(), "maxConcurrent": 0}
	return s, nil
}
