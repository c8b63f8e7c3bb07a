package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The number of cells tested concurrently. They mostly wait. A cluster needs more time of the processor for each.
const (
	abreast        = 16
	abreastOfNodes = 6
)

// result holds the results of a cell's conversations, by name.
type result map[string]error

// TestMatrix makes every client hold every conversation with every server through the real binary. Clients over the
// bridge talk to some servers only; see bridged. Every failure must be explained by a limit of a peer in
// limits_test.go. The resulting matrix is in docs/protocol.md.
func TestMatrix(t *testing.T) {
	needNode(t)
	servers := fixtures(t, goSDKBinary(t))
	config := map[string]any{}
	for _, f := range servers {
		for name, server := range f.servers {
			config[name] = server
		}
	}
	g := serve(t, config)
	checkVersions(t, g, servers)
	clients := callers(t)
	results := make([][]result, len(clients))
	for i := range clients {
		results[i] = make([]result, len(servers))
	}
	var running sync.WaitGroup
	limit := abreast
	if *balancer != "" {
		limit = abreastOfNodes
	}
	free := make(chan struct{}, limit)
	for j, f := range servers {
		var began sync.Once
		one := func(i int, began *sync.Once) {
			if tries(clients[i], f) {
				free <- struct{}{}
				defer func() { <-free }()
				results[i][j] = cell(t, g, clients[i], f, began)
			}
		}
		running.Go(func() { // in sequence: they share the gateway's connection to this server
			for i, c := range clients {
				if c.way != overStdio {
					one(i, &began)
				}
			}
		})
		for i, c := range clients {
			if c.way == overStdio {
				running.Go(func() { one(i, &sync.Once{}) })
			}
		}
	}
	running.Wait()
	if *only == "" {
		withoutTheGateway(t, shown(clients), servers)
	}
	judge(t, clients, servers, results)
	waitFor(t, "no call in flight: canceled calls must end at the servers too", func() (bool, string) { return noneInFlight(t, g) })
}

// checkVersions checks that each server speaks the version it is forced to.
func checkVersions(t *testing.T, g *gateway, servers []*fixture) {
	t.Helper()
	snap := snapshot(t, g)
	for _, f := range servers {
		for _, b := range snap.Backends {
			if _, ours := f.servers[b.Server]; ours && b.Protocol != f.version {
				t.Errorf("%s (%s) speaks %q, want %s; it is %s %s %q", f.name, b.Server, b.Protocol, f.version, b.State, b.Reason, b.Stderr)
			}
		}
	}
}

// cell holds all conversations of a cell. began limits the fixture's preparation to once per connection to the server.
// Clients over stdio have their own gateway, with only that server.
func cell(t *testing.T, g *gateway, c caller, f *fixture, began *sync.Once) result {
	to, alone := target{url: g.url}, &shared
	switch c.way {
	case overSSE:
		to.url = g.base + "/sse"
	case overBridge:
		dir, err := os.MkdirTemp("", "ga")
		if err != nil {
			return failedAll(err)
		}
		defer os.RemoveAll(dir)
		to = target{command: []string{binary, "stdio", "--connect", g.url}, dir: dir}
	case overStdio:
		dir, err := os.MkdirTemp("", "ga")
		if err != nil {
			return failedAll(err)
		}
		defer os.RemoveAll(dir)
		config := map[string]any{}
		for name, server := range f.servers {
			config[name] = server
		}
		to = target{command: []string{binary, "stdio", "--config", writeConfig(t, dir, config)}, dir: dir}
		alone = &sync.Mutex{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*talkTime)
	defer cancel()
	p, err := c.dial(ctx, to, answers{f.form})
	if err != nil {
		return failedAll(&connectError{err})
	}
	defer p.close()
	conversation := &talk{peer: p, fixture: f, cell: fmt.Sprintf("cell-%d", cells.Add(1)), alone: alone,
		limited: func(name string) bool { return limitOf(c, f, name) != nil },
		prepare: func(do func() error) (err error) {
			began.Do(func() { err = do() })
			return err
		}}
	if c.way == overStdio { // its gateway has just started, and lets its client wait only five seconds for servers
		if err := eventually(ctx, conversation.allLists); err != nil {
			return failedAll(&connectError{err})
		}
	}
	went := result(conversation.hold(ctx))
	if v := p.version(); v != c.version {
		went["list"] = errors.Join(went["list"], fmt.Errorf("the client speaks %q, want %s", v, c.version))
	}
	return went
}

// shared is locked by a client while it must be the only one to change a list on the shared gateway.
var shared sync.Mutex

// connectError is the result of all conversations of a cell whose client cannot connect.
type connectError struct{ error }

func (e *connectError) Error() string { return "connect: " + e.error.Error() }

func failedAll(err error) result {
	r := result{}
	for _, name := range talkNames {
		r[name] = err
	}
	return r
}

// judge reports failures that are not a known limit of a peer, and limits that no longer apply. It also compares the matrix with
// docs/protocol.md, or writes it there with -update.
func judge(t *testing.T, clients []caller, servers []*fixture, results [][]result) {
	t.Helper()
	for i, c := range clients {
		for j, f := range servers {
			if results[i][j] != nil {
				judgeCell(t, c, f, results[i][j])
			}
		}
	}
	if t.Failed() || *only != "" {
		return
	}
	page := filepath.Join("..", "..", "docs", "protocol.md")
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(old), matrixBegin)
	_, after, ok2 := strings.Cut(rest, matrixEnd)
	if !ok1 || !ok2 {
		t.Fatalf("docs/protocol.md lacks the lines %q and %q", matrixBegin, matrixEnd)
	}
	table := printed(shown(clients), servers)
	text := before + matrixBegin + table + matrixEnd + after
	t.Logf("\n%s", table)
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(old) {
		t.Error("the matrix in docs/protocol.md is outdated; run go test ./tests/interop -run TestMatrix -update")
	}
}

func judgeCell(t *testing.T, c caller, f *fixture, went result) {
	t.Helper()
	if err, ok := errors.AsType[*connectError](went["list"]); ok {
		t.Errorf("%s: %v", cellName(c, f), err)
		return
	}
	for _, name := range talkNames {
		err, limit := went[name], limitOf(c, f, name)
		switch {
		case err != nil && limit == nil:
			t.Errorf("%s: %s: %v", cellName(c, f), name, err)
		case err == nil && limit != nil && !limit.chance:
			t.Errorf("%s: %s: works, although limit %q says that a peer cannot", cellName(c, f), name, limit.key)
		}
	}
}

func cellName(c caller, f *fixture) string {
	return fmt.Sprintf("%s %s over %s with %s", c.name, c.version, c.way, f.name)
}

func chosen(c caller, f *fixture) bool {
	return chosenName(cellName(c, f))
}

func chosenName(cell string) bool { return *only == "" || regexp.MustCompile(*only).MatchString(cell) }
