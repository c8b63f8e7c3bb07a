package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

// planted is a configuration with a secret, sworDfish, in each place where users put secrets: in fields whose names
// suggest a secret, and in places where only the form of the value does.
const planted = `listen: 127.0.0.1:0
mcpServers:
  leaky:
    command: sh
    args: [-c, "exit 3", --api-key, "${PLANTED}", -H, "Authorization: Bearer ${PLANTED}", --token=sworDfish, "${PLANTED}",
      "${UNSET_HERE:-sworDfish}"]
    env: {PLAIN: sworDfish, FROM: "${PLANTED}"}
  proxy: {command: no-such-proxy, args: [--headers, Authorization, "Bearer sworDfish", "http://x/mcp"]}
  curlish: {command: no-such-remote, args: ["https://x/mcp", -H, "X-Mine: sworDfish", -u, "ada:sworDfish"]}
  smithery: {command: no-such-npx, args: [--config, '{"apiKey":"sworDfish","headers":{"X":"sworDfish"}}']}
  dsn: {command: no-such-pg, args: ["Server=db;User=sa;Password=sworDfish", "postgres://u:sworDfish/x@h/db"]}
  whole: {command: "no-such --token sworDfish", args: [-e, "A=sworDfish", sk-live-sworDfish1]}
  script: {command: sh, args: [-c, "echo Authorization=sworDfish >/dev/null; exit 4"]}
  path: {url: "http://127.0.0.1:9/s/sk-live-sworDfish2/mcp?team=sworDfish", headers: {X-Mine: sworDfish}}
  user: {url: "http://ada:sworDfish@127.0.0.1:9/mcp"}
  variable: {url: "http://127.0.0.1:9/${PLANTED}/mcp?key=${PLANTED}"}
  unset: {url: "http://127.0.0.1:9/mcp?key=sworDfish&b=${UNSET_HERE}"}
  ready: {command: PROGRAM, args: [demo, notes], env: {KEY: sworDfish}, labels: {token: sworDfish}}
`

// exercised contains command lines for every command. FILE stands for a file with planted, BAD for one with withFaults,
// DESKTOP for one with desktopFile, KEYS for a key file, and GATE for the URL of the running gateway.
var exercised = map[string][]string{
	"serve":             {"serve --config BAD", "serve --config FILE --listen http://u:sworDfish@h", "serve extra?token=sworDfish"},
	"stdio":             {"stdio --config FILE", "stdio --connect http://127.0.0.1:9/?token=sworDfish", "stdio --connect ftp://h/?token=sworDfish"},
	"list servers":      {"list servers --connect http://127.0.0.1:9/mcp?token=sworDfish"},
	"list tools":        {"list tools --connect GATE?token=sworDfish", "list tools --connect http://127.0.0.1:9/mcp?token=sworDfish", "list tools --connect https://127.0.0.1:9/?token=sworDfish", "list tools --config FILE", "list tools --connect http://u:sworDfish@127.0.0.1:9/"},
	"list prompts":      {"list prompts --connect 127.0.0.1:99999/?token=sworDfish"},
	"list resources":    {"list resources --connect http:///?token=sworDfish", "list resources --connect GATE/s/sk-live-sworDfish3"},
	"list templates":    {"list templates --connect u:sworDfish/x@127.0.0.1:9/mcp"},
	"call":              {"call ready_search_notes query=a --connect GATE?token=sworDfish", "call ready_search_notes --api-key=sworDfish --connect GATE", "call ready_search_notes -key=sworDfish", "call ready_search_notes query=a query=sk-live-sworDfish4 --connect GATE", "call ready_search_notes https://h/?token=sworDfish --connect GATE"},
	"read":              {"read a:b --connect http://127.0.0.1:9/mcp?token=sworDfish"},
	"prompt":            {"prompt a --connect http://127.0.0.1:9/mcp?token=sworDfish"},
	"watch":             {"watch a:b --connect http://127.0.0.1:9/mcp?token=sworDfish", "watch a:b --connect ftp://127.0.0.1:9/mcp?token=sworDfish"},
	"watch catalog":     {"watch catalog --connect ftp://h?token=sworDfish", "watch catalog http://h?token=sworDfish"},
	"cluster secret":    {"cluster secret --token=sworDfish", "cluster secret http://h?token=sworDfish"},
	"logs":              {"logs --connect GATE?token=sworDfish", "logs leaky -o json", "logs missing --connect ftp://h?token=sworDfish"},
	"calls":             {"calls", "calls -o json", "calls --server leaky --connect ftp://h?token=sworDfish"},
	"audit tail":        {"audit tail --file http://h?token=sworDfish", "audit tail http://h?token=sworDfish a=b?token=sworDfish", "audit tail --config FILE", "audit tail --since token=sworDfish"},
	"audit verify":      {"audit verify http://h?token=sworDfish", "audit verify --without token=sworDfish http://h?token=sworDfish a.jsonl", "audit verify token=sworDfish", "audit verify --config FILE", "audit verify --public-key http://h?token=sworDfish http://h?token=sworDfish"},
	"describe":          {"describe ready_search_notes --connect GATE?token=sworDfish", "describe a:b --connect http://127.0.0.1:9/mcp?token=sworDfish"},
	"status":            {"status", "status -o json", "status -o yaml", "status --connect GATE?token=sworDfish", "status http://h?token=sworDfish"},
	"health":            {"health", "health --live", "health --connect GATE?token=sworDfish", "health http://h?token=sworDfish"},
	"tui":               {"tui", "tui --connect ftp://h?token=sworDfish"},
	"doctor":            {"doctor --config FILE --timeout 20s", "doctor --config BAD", "doctor token=sworDfish --config FILE"},
	"lint":              {"lint --config FILE", "lint --config BAD", "lint token=sworDfish --config FILE"},
	"add":               {"add b1 --config FILE -- x --api-key sworDfish", "add b2 ftp://h?token=sworDfish --config FILE", "add leaky http://u:sworDfish@h --config FILE", "add b3 --config BAD --header X:sworDfish http://h?token=sworDfish", "add b4 --env sworDfish http://h", "add b5 --token sworDfish x", "add b6 x --cwd sworDfish --url=sworDfish"},
	"key new":           {"key new token=sworDfish --file KEYS", "key new gba_sworDfish --file KEYS", "key new a --role token=sworDfish --file KEYS", "key new a --project http://h?token=sworDfish --file KEYS", "key new a --expires token=sworDfish --file KEYS", "key new a b?token=sworDfish", "key new ci --config FILE", "key new ci2 --config BAD"},
	"key list":          {"key list --file KEYS", "key list token=sworDfish", "key list --config FILE", "key list --config BAD"},
	"key revoke":        {"key revoke gba_sworDfish --file KEYS", "key revoke token=sworDfish --config FILE", "key revoke missing --config BAD"},
	"remove":            {"remove user --config FILE", "remove missing --config FILE"},
	"enable":            {"enable path --config FILE", "enable path/x --config FILE"},
	"disable":           {"disable path --config FILE", "disable dsn/x --config FILE"},
	"restart":           {"restart leaky", "restart leaky --connect ftp://h?token=sworDfish"},
	"drain":             {"drain --connect ftp://h?token=sworDfish", "drain http://h?token=sworDfish"},
	"bench":             {"bench calls"},
	"bench compare":     {"bench compare FILE BAD"},
	"service install":   {"service install --print --config FILE", "service install --print --config BAD", "service install --name sk-live-sworDfish9"},
	"service start":     {"service start --name token=sworDfish", "service start http://h?token=sworDfish"},
	"service stop":      {"service stop --name token=sworDfish"},
	"service status":    {"service status --name token=sworDfish"},
	"service uninstall": {"service uninstall --name token=sworDfish"},
	"demo":              {"demo notes", "demo notes extra?token=sworDfish"},
	"config check":      {"config check FILE", "config check BAD"},
	"config show":       {"config show FILE", "config show BAD"},
	"config schema":     {"config schema"},
	"config import":     {"config import cursor --file DESKTOP --into FILE --dry-run", "config import cursor --file DESKTOP --into FILE --yes"},
	"config install":    {"config install cursor --file DESKTOP --url http://h/mcp?token=sworDfish --yes", "config install cursor --file DESKTOP --url ftp://h/mcp?token=sworDfish"},
	"migrate":           {"migrate cursor --file DESKTOP --into FILE --dry-run", "migrate cursor --file DESKTOP --into FILE --url ftp://h?token=sworDfish", "migrate cursor --file DESKTOP --into FILE --yes"},
	"login":             {"login path --connect ftp://h?token=sworDfish", "login missing --connect http://127.0.0.1:9/mcp?token=sworDfish", "login path --config FILE"},
	"logout":            {"logout path --connect ftp://h?token=sworDfish", "logout path --config FILE"},
	"policy check":      {"policy check FILE", "policy check BAD"},
	"policy explain":    {"policy explain --config FILE --as local ready_search_notes token=sworDfish", "policy explain --config BAD --as local x"},
	"version":           {"version"},
	"help":              {"help"},
	"completion bash":   {"completion bash"},
}

// withFaults is a configuration whose errors are next to secrets.
const withFaults = `listen: "http://u:sworDfish@h/?token=sworDfish"
mcpServers:
  a: {command: x, timeout: sk-live-sworDfish6, args: ["${sk-live-sworDfish7}", {key: sworDfish}], env: [sworDfish], replicas: sk-live-sworDfish8}
  b: {url: "ftp://u:sworDfish@h", type: "token=sworDfish", "//": sworDfish}
cluster: {node: a, listen: "u:sworDfish@h:1", seeds: ["nats://u:sworDfish@h"], secrets: ["${PLANTED}", sworDfish], nats: {url: "http://u:sworDfish@h"}}
`

// desktopFile is a desktop client's file. config install replaces its entry goblin.
const desktopFile = `{"mcpServers": {"goblin": {"command": "x", "args": ["--token", "sworDfish"], "env": {"A": "sworDfish"}, "url": "http://u:sworDfish@h/"},
  "other": {"command": "y", "args": ["sworDfish"], "env": {"A": "sworDfish"}}, "third": {"url": "ftp://h?token=sworDfish"}}}`

// S5.3.1: No command prints a secret from the configuration, a variable or the command line. The gateway does not log one, and
// no page of the admin socket shows one.
func TestNoCommandLeaksSecrets(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	runtime, err := os.MkdirTemp("", "goblin") // short, because socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	for name, value := range map[string]string{"PLANTED": "sworDfish", "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": dir, "GOBLIN_CONFIG": ""} {
		t.Setenv(name, value)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gateway := startPlanted(t, write("gateway.yaml", strings.ReplaceAll(planted, "PROGRAM", "goblin-actor")))
	tells := func(what, said string) {
		t.Helper()
		for line := range strings.Lines(said) {
			if strings.Contains(strings.ToLower(line), "swordfish") {
				t.Errorf("%s leaks: %s", what, strings.TrimSpace(line))
			}
		}
	}
	every := func(path string) {
		for _, line := range exercised[path] {
			words := strings.Fields(strings.NewReplacer("GATE", gateway.url, "KEYS", filepath.Join(dir, "keys.yaml"),
				"FILE", write("planted.yaml", strings.ReplaceAll(planted, "PROGRAM", "goblin-actor")),
				"BAD", write("bad.yaml", withFaults), "DESKTOP", write("mcp.json", desktopFile)).Replace(line))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var out, errOut bytes.Buffer
			cli.Run(ctx, words, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), &out, &errOut)
			cancel()
			tells(line, strings.ReplaceAll(out.String()+errOut.String(), dir, ""))
		}
	}
	forEachCommand(cli.NewRoot(), func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "goblin-actor ")
		if _, known := exercised[path]; !known && !strings.HasPrefix(path, "completion ") {
			t.Errorf("no command line for %q: add one with a secret in it", path)
		}
		every(path)
	})
	pages := []string{"statusz?seconds=60", "serverz", "backendz", "catalogz", "callz", "sessionz", "actorz", "subscriptionz", "metrics", "logz", "finishedz", "secondz", "itemz", "userz",
		"loginz", "denialz", "recordz", "payloadz", "eventz?once"}
	for _, want := range status.Wants {
		pages = append(pages, fmt.Sprintf("eventz?once&want=%s", want), fmt.Sprintf("eventz?once&want=%s,%s", want, want)) // alone, log and catalog have another form
	}
	for _, page := range pages {
		said := gateway.page(t, page)
		tells("/"+page, said)
	}
	tells("the gateway's log", gateway.stop(t))
}

// forEachCommand visits every visible command that can run.
func forEachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Hidden {
		return
	}
	if len(cmd.Commands()) == 0 || cmd.Name() == "bench" {
		visit(cmd)
		return
	}
	for _, child := range cmd.Commands() {
		forEachCommand(child, visit)
	}
}

// plantedGateway is a serve command in this process.
type plantedGateway struct {
	url    string
	log    *lockedBuffer
	cancel context.CancelFunc
	done   chan int
}

func startPlanted(t *testing.T, path string) *plantedGateway {
	ctx, cancel := context.WithCancel(context.Background())
	g := &plantedGateway{log: &lockedBuffer{}, cancel: cancel, done: make(chan int, 1)}
	out, w := io.Pipe()
	go func() {
		g.done <- cli.Run(ctx, []string{"serve", "--config", path}, strings.NewReader(""), w, g.log)
		w.Close()
	}()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatalf("%v\n%s", err, g.log.String())
	}
	t.Cleanup(cancel)
	go io.Copy(io.Discard, out)
	g.url = strings.TrimSpace(string(line[:n]))
	g.awaitReady(t)
	return g
}

// awaitReady waits until every server is ready or has failed once.
func (g *plantedGateway) awaitReady(t *testing.T) {
	for deadline := time.Now().Add(gatetest.Patience); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(strings.TrimSuffix(g.url, "/mcp") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s\n%s", resp.Status, g.log.String())
		}
	}
}

// admin fetches a page of the gateway's admin socket.
func (g *plantedGateway) admin(ctx context.Context, page string) (*http.Response, error) {
	return g.operates(ctx, http.MethodGet, page, "")
}

// reload reloads the gateway's file.
func (g *plantedGateway) reload(ctx context.Context) error {
	resp, err := g.operates(ctx, http.MethodPost, "actions/reload", "{}")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return errors.New(resp.Status)
	}
	return nil
}

// operates sends a request to the admin socket.
func (*plantedGateway) operates(ctx context.Context, method, page, body string) (*http.Response, error) {
	sockets, err := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "goblin-actor", "*.sock"))
	if err != nil || len(sockets) != 1 {
		return nil, fmt.Errorf("sockets %v, %w", sockets, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
	}}}
	req, err := http.NewRequestWithContext(ctx, method, "http://admin/"+page, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

func (g *plantedGateway) page(t *testing.T, page string) string {
	t.Helper()
	resp, err := g.admin(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", page, resp.Status, err)
	}
	return string(text)
}

// stop stops the gateway and returns its log.
func (g *plantedGateway) stop(t *testing.T) string {
	g.cancel()
	select {
	case <-g.done:
	case <-time.After(gatetest.Patience):
		t.Error("the gateway did not stop")
	}
	return g.log.String()
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// The audit commands do not run programs that the configuration names in values of servers.
func TestAuditCommandsRunNoPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: needs touch")
	}
	dir := t.TempDir()
	path, ran := filepath.Join(dir, "goblin.yaml"), filepath.Join(dir, "ran")
	text := "audit: {file: audit.jsonl}\nmcpServers: {a: {url: 'http://127.0.0.1:1/mcp', headers: {X-Token: '${command:touch " + ran + "}'}}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"tail", "verify"} {
		var out strings.Builder
		code := cli.Run(t.Context(), []string{"audit", verb, "--config", path}, strings.NewReader(""), &out, &out)
		if code != 1 || !strings.Contains(out.String(), "does not exist") {
			t.Errorf("%s: exit code %d: %s", verb, code, out.String())
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran")
	}
}
