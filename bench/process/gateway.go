package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"goblin-actor/bench/wire"
)

// Gateway is a gateway process with its own directories.
type Gateway struct {
	*Process
	socket string // its admin socket
}

// defaultPageSize is the page size of measured gateways. It holds all tools of most measurements.
const defaultPageSize = 1000

// startGateway starts `serve` with the servers and waits until it is ready. The gateway's files go into dir, whose path
// must be short, because the directory contains a socket. settings are added to the configuration.
func startGateway(ctx context.Context, env []string, program, dir string, servers, settings map[string]any) (*Gateway, error) {
	all := map[string]any{"pageSize": defaultPageSize}
	maps.Copy(all, settings)
	g, err := runGateway(ctx, env, program, []string{"serve"}, dir, servers, all)
	if err != nil {
		return nil, err
	}
	if err := g.WaitReady(ctx); err != nil {
		g.Stop()
		return nil, fmt.Errorf("%w\n%s", err, g.Stderr)
	}
	return g, nil
}

// runGateway starts a gateway with a command that takes a configuration, and returns once the gateway listens.
func runGateway(ctx context.Context, env []string, program string, command []string, dir string, servers, settings map[string]any) (*Gateway, error) {
	config := map[string]any{"listen": "127.0.0.1:0", "mcpServers": servers, "metaTools": "false", "log": map[string]string{"level": "warn"}}
	maps.Copy(config, settings)
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	p, err := start(ctx, append([]string{"XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir}, env...), program, append(command, "--config", file)...)
	if err != nil {
		return nil, err
	}
	return &Gateway{p, filepath.Join(dir, "goblin-actor", p.URL.Port()+".sock")}, nil
}

// VersionOf returns the first line of the output of `version` of a gateway's binary.
func VersionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("run %s version: %w", program, err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(line[:min(len(line), 200)])), nil
}

// WaitReady waits until the gateway is ready. It returns an error if that takes longer than a minute or a server failed.
func (g *Gateway) WaitReady(ctx context.Context) error {
	body, ready, err := g.AwaitReady(ctx, time.Minute)
	if err == nil && (!ready || bytes.Contains(body, []byte(`"failed"`))) {
		err = fmt.Errorf("the gateway is not ready: %s", body)
	}
	return err
}

// AwaitReady requests /readyz until it answers 200, for at most wait. It returns the last response and whether it was
// 200.
func (p *Process) AwaitReady(ctx context.Context, wait time.Duration) (body []byte, ready bool, err error) {
	for began := time.Now(); time.Since(began) < wait; {
		if w, err := wire.Dial("tcp", p.URL.Host); err == nil {
			body, err = w.Get(p.URL.Host, "/readyz")
			w.Close()
			if err == nil && w.Status == 200 {
				return body, true, nil
			}
		}
		select {
		case <-ctx.Done():
			return body, false, context.Cause(ctx)
		case <-p.Done:
			return body, false, errors.New("the gateway ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
	return body, false, nil
}

// Memory is a gateway's memory at one moment, after a garbage collection. Sizes are in MiB.
type Memory struct {
	RSS, Heap, Stack     float64
	Goroutines, Sessions float64 // numbers of goroutines and sessions
}

// Memory triggers garbage collections in the gateway and returns the memory in use.
func (g *Gateway) Memory() (Memory, error) {
	w, err := wire.Dial("unix", g.socket)
	if err != nil {
		return Memory{}, err
	}
	defer w.Close()
	for range 2 { // the second collection also frees what finalizers kept
		_, err := w.Get("admin", "/debug/pprof/heap?gc=1")
		if err := w.Expect("collect garbage", 200, nil, err); err != nil {
			return Memory{}, err
		}
	}
	resident := g.Usage().RSS // before the metrics request, which creates garbage for every session
	m := wire.Scrape(g.URL.Host)
	return Memory{RSS: float64(resident) / (1 << 20), Heap: m["go_memstats_heap_inuse_bytes"] / (1 << 20),
		Stack: m["go_memstats_stack_inuse_bytes"] / (1 << 20), Goroutines: m["go_goroutines"], Sessions: sessionsIn(m)}, nil
}

// WaitEmpty waits up to 15 s until the gateway has no sessions.
func (g *Gateway) WaitEmpty(ctx context.Context) error {
	for range 150 {
		if g.Sessions() == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("the gateway still has %g sessions 15 s after they ended", g.Sessions())
}

// Sessions returns the number of sessions that the gateway has, or 0 if /metrics is unreachable.
func (g *Gateway) Sessions() float64 { return sessionsIn(wire.Scrape(g.URL.Host)) }

func sessionsIn(m map[string]float64) float64 {
	var n float64
	for series, value := range m {
		if strings.HasPrefix(series, "goblin_sessions") {
			n += value
		}
	}
	return n
}
