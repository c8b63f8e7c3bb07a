//go:build linux

package faults

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// Settings outside mcpServers are reloaded, too: allowed origins, limits, logging. Settings that cannot be reloaded are reported.
func TestReloadSettings(t *testing.T) {
	t.Parallel()
	s := servers(map[string]any{"good": bad("none")})
	s["shutdown"] = map[string]any{"drain": "5m"}
	g := serve(t, s)
	g.ready(t, "good")
	welcome := func(header, value string) bool {
		t.Helper()
		r, err := http.NewRequest("GET", g.base+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Header.Set(header, value); header == "Host" {
			r.Host = value
		}
		resp, err := http.DefaultClient.Do(r) // on a kept-alive connection
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode == 200
	}
	rules := func(want bool) {
		t.Helper()
		if got := welcome("Origin", "https://app.example"); got != want {
			t.Errorf("origin accepted: %v, want %v", got, want)
		}
		if got := welcome("Host", "goblin.example"); got != want {
			t.Errorf("host accepted: %v, want %v", got, want)
		}
	}
	rules(false)
	before := g.server(t, "good")
	c := connect(t, g, "")

	s["allowedOrigins"], s["allowedHosts"] = []string{"https://app.example"}, []string{"goblin.example"}
	s["limits"] = map[string]any{"maxInFlightPerClient": 1, "maxMessageBytes": "1MiB"}
	s["log"] = map[string]any{"format": "json"}
	s["shutdown"] = map[string]any{"drain": "1s"}
	s.write(t, g.config)
	g.reloaded(t, 1)
	rules(true)
	g.logged(t, "limits.maxMessageBytes and limits.maxBufferedBytes take effect at the next start")
	g.logged(t, "log.format has changed; it takes effect at the next start")
	slow := make(chan answer, 1)
	go func() {
		a, _ := c.try(t.Context(), strings.NewReader(callFrame(1, "good", "never", 0)), nil)
		slow <- a
	}()
	g.running(t, "good", 1)
	c.post(t, callFrame(2, "good", "", 0)).wants(t, "a second call of a client", -31010, "OVERLOADED")

	s["log"] = map[string]any{"level": "warn"}
	delete(s, "allowedOrigins")
	delete(s, "allowedHosts")
	s.write(t, g.config)
	waitFor(t, "the origin to be unwelcome again", func() (bool, string) { return !welcome("Origin", "https://app.example"), "" })
	rules(false)
	if n := strings.Count(g.log.String(), "log.format has changed"); n != 1 {
		t.Errorf("%d warnings about log.format, want none after it was changed back", n-1)
	}
	if n := strings.Count(g.log.String(), "configuration reloaded"); n != 1 {
		t.Errorf("%d reloads were logged at level info after log.level became warn", n-1)
	}
	if after := g.server(t, "good"); after.PID != before.PID {
		t.Error("changed settings reconnected a server")
	}
	began := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	(<-slow).wants(t, "a call that never ends", -31007, "SHUTTING_DOWN")
	<-g.exited
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the drain took %s, want the 1s of the new configuration", took)
	}
}

// A gateway with one client on stdio reloads a changed file, too.
func TestReloadOnStdio(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "goblin.json")
	servers(map[string]any{"good": bad("none")}).write(t, file)
	ctx, cancel := context.WithTimeout(t.Context(), gatetest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "stdio", "--config", file)
	cmd.Env = environment(dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	until := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("stdout ended without %s", part)
	}
	say := func(frame string) { _, _ = io.WriteString(in, frame+"\n") }
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	until(`"id":0`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	servers(map[string]any{"good": with(bad("none"), map[string]any{"prefix": "other"})}).write(t, file)
	until("notifications/tools/list_changed")
	say(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	until(`"name":"other_`)
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
