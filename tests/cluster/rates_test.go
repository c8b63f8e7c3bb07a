//go:build linux

package cluster

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/gatetest"
)

var rateTime = flag.Duration("rate-time", 20*time.Second, "how long TestRates sends requests; make cluster-rates takes 300s")

const (
	ratesConfig = `
auth: {keys: keys.yaml}
policy:
  roles: {limited: {rate: 120/min}}
mcpServers: {}
`
	burst, perSecond = 120, 2
	ratePace         = 100 * time.Millisecond // between two requests
)

// S6.7: a principal may send as many requests as with one gateway, whether the balancer deals them to all nodes in turn or to one node.
func TestRates(t *testing.T) {
	dir := gatetest.ShortDir(t)
	keys := map[string]string{}
	for _, name := range []string{"turn", "kept", "alone"} {
		key, sum := auth.NewKey()
		keys[name] = key
		if err := auth.Add(filepath.Join(dir, "keys.yaml"), auth.Key{Name: name, Sum: sum, Roles: []string{"limited"}}); err != nil {
			t.Fatal(err)
		}
	}
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: ratesConfig})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return counted(t, c.Nodes...) })
	alone := startAlone(t, dir)
	targets := map[string][]string{"turn": nil, "kept": {c.Nodes[0].URL}, "alone": {alone.URL}}
	for _, n := range c.Nodes {
		targets["turn"] = append(targets["turn"], n.URL)
	}
	var mu sync.Mutex
	admitted := map[string]int{}
	var wg sync.WaitGroup
	for name, urls := range targets {
		wg.Go(func() {
			count := admittedIn(t, *rateTime, keys[name], urls)
			mu.Lock()
			defer mu.Unlock()
			admitted[name] = count
		})
	}
	wg.Wait()
	for _, name := range []string{"turn", "kept"} {
		ratio := float64(admitted[name]) / float64(admitted["alone"])
		t.Logf("%s: %d requests admitted in %v, one gateway %d: %.3f", name, admitted[name], *rateTime, admitted["alone"], ratio)
		if ratio < 0.98 || ratio > 1.03 {
			t.Errorf("%s: %.3f of one gateway's rate, want 0.98 to 1.03", name, ratio)
		}
	}
	if most := burst + perSecond*int(rateTime.Seconds()+1); admitted["alone"] > most {
		t.Errorf("one gateway admitted %d requests, at most %d are allowed", admitted["alone"], most)
	}
}

// startAlone starts a gateway without a cluster.
func startAlone(t *testing.T, dir string) *gatetest.Process {
	t.Helper()
	file := filepath.Join(dir, "alone.yaml")
	if err := os.WriteFile(file, []byte(ratesConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", file, "--listen", "127.0.0.1:0")
	cmd.Env = gatetest.Environment(gatetest.ShortDir(t))
	p := gatetest.Serve(t, cmd)
	gatetest.WaitReady(t, p.Base)
	return p
}

// admittedIn sends a modern request each ratePace to the next URL, and returns how many were not refused because of the rate.
func admittedIn(t *testing.T, d time.Duration, key string, urls []string) (admitted int) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	ticker := time.NewTicker(ratePace)
	defer ticker.Stop()
	for i := range int(d / ratePace) {
		<-ticker.C
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, urls[i%len(urls)], strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return admitted
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", "Authorization": "Bearer " + key} {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return admitted
		}
		_ = answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
		default:
			t.Error(fmt.Sprint("status ", answer.StatusCode))
			return admitted
		}
	}
	return admitted
}
