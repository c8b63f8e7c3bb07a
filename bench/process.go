package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// process is a child of ours that has printed its URL.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   *url.URL
	said  *lastWords
	done  chan struct{} // closed when it has ended
}

var urlPattern = regexp.MustCompile(`https?://[^\s"]+`)

// start runs program and waits until it has printed a URL on stdout. env is added to ours.
func start(ctx context.Context, env []string, program string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	p := &process{cmd: cmd, said: &lastWords{}, done: make(chan struct{})}
	cmd.Stderr = p.said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if text := urlPattern.FindString(lines.Text()); text != "" {
				select {
				case found <- text:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	}()
	select {
	case text := <-found:
		p.url, err = url.Parse(text)
	case <-p.done:
		err = errors.New("it ended")
	case <-time.After(30 * time.Second):
		err = errors.New("it printed no URL for 30 s")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("start %s %v: %w\n%s", filepath.Base(program), args, err, p.said)
	}
	return p, nil
}

// stop ends the process: by closing its stdin and SIGTERM, after 15 s by force. Blocks until it has ended.
func (p *process) stop() {
	_ = p.stdin.Close()
	if runtime.GOOS == "windows" || p.cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = p.cmd.Process.Kill()
	}
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// usage is what a process has used so far. Zero where the system does not tell (Linux does).
type usage struct {
	cpu time.Duration // user and system
	rss int64         // resident bytes now
}

func (p *process) usage() usage {
	var u usage
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if text, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		// The name in parentheses may hold anything; fields count from behind it. Ticks are 10 ms on every Linux we run on.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 12 {
			user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
			system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
			u.cpu = time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	if text, err := os.ReadFile("/proc/" + pid + "/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			u.rss = pages * int64(os.Getpagesize())
		}
	}
	return u
}

// lastWords keeps the end of what a process writes to stderr. Safe for concurrent use.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - 4096; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// gateway is a gateway process with directories of its own.
type gateway struct {
	*process
	socket string // its admin socket
}

// startGateway runs `serve` over the servers and waits until it is ready. dir is for its files; the path of its socket is
// short only if dir is. settings stand beside the servers in its configuration.
func startGateway(ctx context.Context, o Options, dir string, servers, settings map[string]any) (*gateway, error) {
	all := map[string]any{"pageSize": max(1000, o.Servers*o.Tools)}
	maps.Copy(all, settings)
	g, err := runGateway(ctx, o.gateway(), []string{"serve"}, dir, servers, all)
	if err != nil {
		return nil, err
	}
	if err := g.waitReady(ctx); err != nil {
		g.stop()
		return nil, fmt.Errorf("%w\n%s", err, g.said)
	}
	return g, nil
}

// runGateway does so by a command that takes a configuration, and returns when it listens.
func runGateway(ctx context.Context, program string, command []string, dir string, servers, settings map[string]any) (*gateway, error) {
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
	p, err := start(ctx, []string{"XDG_RUNTIME_DIR=" + dir, "XDG_STATE_HOME=" + dir}, program, append(command, "--config", file)...)
	if err != nil {
		return nil, err
	}
	return &gateway{p, filepath.Join(dir, "goblin-actor", p.url.Port()+".sock")}, nil
}

// versionOf returns the first line of what a gateway's binary says of itself.
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("run %s version: %w", program, err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(line[:min(len(line), 200)])), nil
}

// waitReady waits until the gateway is ready and names no failed server.
func (g *gateway) waitReady(ctx context.Context) error {
	body, ready, err := g.readyz(ctx, time.Minute)
	if err == nil && (!ready || bytes.Contains(body, []byte(`"failed"`))) {
		err = fmt.Errorf("the gateway is not ready: %s", body)
	}
	return err
}

// readyz asks /readyz until it is 200, for so long at most, and returns its last answer and whether that was it.
func (p *process) readyz(ctx context.Context, wait time.Duration) (body []byte, ready bool, err error) {
	for began := time.Now(); time.Since(began) < wait; {
		if w, err := dial("tcp", p.url.Host); err == nil {
			body, err = w.get(p.url.Host, "/readyz")
			w.close()
			if err == nil && w.status == 200 {
				return body, true, nil
			}
		}
		select {
		case <-ctx.Done():
			return body, false, context.Cause(ctx)
		case <-p.done:
			return body, false, errors.New("the gateway ended")
		case <-time.After(100 * time.Millisecond):
		}
	}
	return body, false, nil
}
