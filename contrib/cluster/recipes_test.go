//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/gatetest"
)

// binary is the gateway; built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ga")
	if err == nil {
		binary, err = gatetest.Build(dir)
	}
	code := 1
	if err == nil {
		err = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")) // for the servers "goblin-actor demo"
	}
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replace replaces each old text by the new one. Every old text must occur.
func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%q is missing in:\n%s", pair[0], text)
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// recipe is a running cluster and the key of its client.
type recipe struct {
	*gatetest.Cluster
	key     string
	refused string // the last error
}

// RoundTrip implements http.RoundTripper.
func (r *recipe) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", "Bearer "+r.key)
	return http.DefaultTransport.RoundTrip(q)
}

// start creates a key as the page says, and starts the nodes.
func start(t *testing.T, config string, names ...string) *recipe {
	t.Helper()
	dir := gatetest.ShortDir(t)
	file := filepath.Join(dir, "key.yaml")
	if err := os.WriteFile(file, []byte("auth: {keys: keys.yaml}\nmcpServers: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "key", "new", "laptop", "--config", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return &recipe{gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: config, Names: names}), strings.TrimSpace(string(out)), ""}
}

// balance starts the balancer with the recipe's file, in which the nodes are called NAME:8730.
func (r *recipe) balance(t *testing.T, name, listen, config string, pairs ...string) {
	t.Helper()
	address := "127.0.0.1:" + gatetest.FreePort(t)
	pairs = append(pairs, listen, replace(t, listen, listenAt(listen), address))
	for _, n := range r.Nodes {
		pairs = append(pairs, n.Name+":8730", strings.TrimPrefix(n.Base, "http://"))
	}
	r.Balance(name, address, replace(t, config, pairs...))
}

// listenAt returns the address in a line of a balancer's file, which is its last word.
func listenAt(line string) string {
	words := strings.Fields(strings.TrimSuffix(line, ";"))
	return words[len(words)-1]
}

// use opens a session through the balancer, if there is one. Its calls reach all nodes in turn, and all nodes use the same notes.
func (r *recipe) use(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatetest.Patience)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "recipe", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: r.URL, HTTPClient: &http.Client{Transport: r}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	call := func(tool string, arguments any) string {
		t.Helper()
		for {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
			switch {
			case err == nil && !result.IsError:
				return result.Content[0].(*mcp.TextContent).Text
			case err == nil || ctx.Err() != nil:
				t.Fatalf("%s: %v %+v", tool, err, result)
			case r.refused != err.Error(): // no node has the lease of a server with "run: one" yet
				r.refused = err.Error()
				t.Logf("%s: %v", tool, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	call("notes_add_note", map[string]any{"title": "Recipe", "text": "tried"})
	for range 4 * len(r.Nodes) {
		call("clock_now", nil)
		if text := call("notes_search_notes", map[string]any{"query": "tried"}); !strings.Contains(text, "Recipe") {
			t.Errorf("a node has other notes: %s", text)
		}
	}
}

// restart restarts the nodes one after the other, and uses the gateway after each.
func (r *recipe) restart(t *testing.T) {
	t.Helper()
	for _, n := range r.Nodes {
		if err := n.End(); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		n.Start()
		gatetest.WaitReady(t, n.Base)
	}
}

// Two hosts behind nginx.
func TestTwoHosts(t *testing.T) {
	gatetest.NeedBalancer(t, gatetest.Nginx)
	r := start(t, replace(t, read(t, "two-hosts", "goblin.yaml"), "10.0.0.5", "127.0.0.1"), "gateway-1", "gateway-2")
	const main = "daemon off; worker_processes 1; pid nginx.pid;\nevents {}\nhttp {\naccess_log off; client_body_temp_path body; proxy_temp_path proxy;\n" +
		"fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n%s}\n"
	r.balance(t, gatetest.Nginx, "listen 80;", fmt.Sprintf(main, read(t, "two-hosts", "nginx.conf")))
	r.use(t)
	r.restart(t)
	r.use(t)
}

// Three containers behind haproxy. The haproxy of a container asks Docker for the addresses of the others.
func TestCompose(t *testing.T) {
	gatetest.NeedBalancer(t, gatetest.Haproxy)
	config := replace(t, read(t, "compose", "goblin.yaml"), "172.30.87.0/24", "127.0.0.1", "/var/lib/goblin-actor/", "")
	r := start(t, config, "gateway-1", "gateway-2", "gateway-3")
	r.balance(t, gatetest.Haproxy, "bind :8730", read(t, "compose", "haproxy.cfg"))
	r.use(t)
}

// The nodes of the StatefulSet. The test of two hosts shows them behind nginx, as behind ingress-nginx.
func TestKubernetes(t *testing.T) {
	config := replace(t, objects(t)["ConfigMap goblin-actor"].Data["goblin.yaml"], "10.0.0.0/8", "127.0.0.1", "/run/secrets/goblin-actor/", "",
		"url: https://docs.example.org/mcp", "{command: goblin-actor, args: [demo, oracle], run: each}")
	start(t, config, "goblin-actor-0", "goblin-actor-1", "goblin-actor-2").use(t)
}

// object is the part of a Kubernetes object that the tests read.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
}

// objects returns the objects of the Kubernetes recipe by kind and name.
func objects(t *testing.T) map[string]object {
	t.Helper()
	list := map[string]object{}
	for part := range strings.SplitSeq(read(t, "kubernetes", "goblin-actor.yaml"), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			t.Fatal(err)
		}
		list[o.Kind+" "+o.Metadata.Name] = o
	}
	return list
}
