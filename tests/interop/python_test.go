package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/gatetest"
)

// pythons maps Python libraries to their environments; python/<environment>.txt pins the versions.
var pythons = map[string]string{"sdk1": "sdk1", "sdk2": "sdk2", "fastmcp2": "sdk1", "fastmcp3": "fastmcp3", "fastmcp4": "sdk2"}

// pyTalks are the conversations of python/client.py, in order.
var pyTalks = []string{"list", "odd", "many", "add", "fail", "unknown", "mixed", "progress", "log", "cancel", "elicit", "sample", "roots",
	"either", "refuse", "resources", "tree", "link", "prompts", "complete", "subscribe", "grow", "found", "ping"}

// pyClient is a column of the matrix: a process that talks to one server after another.
type pyClient struct {
	name    string
	library string
	mode    string // mode of the second SDK: auto, legacy or a version
	path    string // path on the gateway, with %s for the server; without %s, names have server prefixes
}

var pyClients = []pyClient{
	{"sdk1", "sdk1", "", "/s/%s/mcp"},
	{"sdk1 over SSE", "sdk1", "", "/s/%s/sse"},
	{"sdk2 auto", "sdk2", "auto", "/s/%s/mcp"},
	{"sdk2 legacy", "sdk2", "legacy", "/mcp"},
	{"fastmcp2", "fastmcp2", "", "/mcp"},
	{"fastmcp3", "fastmcp3", "", "/mcp"},
	{"fastmcp4 auto", "fastmcp4", "auto", "/mcp"},
	{"fastmcp4 legacy", "fastmcp4", "legacy", "/s/%s/mcp"},
}

// pyServer is a row of the matrix.
type pyServer struct {
	library string
	way     string // stdio, modern (stdio in the newest version only), http, stateless or sse
	to      map[string]any
	config  map[string]any // server entry in the gateway's configuration
	alone   sync.Mutex     // held during a conversation, because the server's state is shared
}

func (s *pyServer) name() string { return s.library + "-" + s.way }

// meets reports whether the client talks to the server. All clients talk to the http servers of both SDKs, except that
// clients in legacy mode skip servers without the modern era. FastMCP is built on the SDKs, so without -all its http
// servers talk only to one client per era and the clients of their own library. The other ways take a second per
// process. There, clients in legacy mode are left out, and a server talks to at most one client per era and the clients
// of its own library.
func (c pyClient) meets(s *pyServer) bool {
	second := s.library == "sdk2" || s.library == "fastmcp4"
	switch {
	case s.way == "http" && c.mode == "legacy" && !second: // such a client resembles one of the first SDK
		return false
	case s.way == "http":
		sdk := s.library == "sdk1" || s.library == "sdk2"
		return *all || sdk || c.library == s.library || c.name == "sdk1" || c.name == "sdk2 auto"
	case c.path == "/s/%s/sse": // another endpoint of the gateway, with the same servers
		return s.way == "sse" && s.library == "sdk1"
	case c.mode == "legacy":
		return false
	case s.way == "modern":
		return c.library == s.library || c.name == "sdk1" && s.library == "sdk2"
	case c.library == s.library:
		return true
	case c.name == "sdk1":
		return s.way == "stdio" || s.library == "sdk2"
	default:
		return c.name == "sdk2 auto" && (second || s.way == "stdio")
	}
}

func python(t *testing.T, library string) string {
	t.Helper()
	return absolute(t, "python/.venv-"+pythons[library]+"/bin/python")
}

// needPython skips the test if the Python peers are not installed. With CI=true it fails the test.
func needPython(t *testing.T) {
	t.Helper()
	for _, environment := range pythons {
		if _, err := os.Stat("python/.venv-" + environment + "/installed"); err != nil {
			const why = "the Python peers are not installed: run make interop, with Python 3.11 or newer"
			if os.Getenv("CI") == "true" {
				t.Fatal(why)
			}
			t.Skip(why)
		}
	}
}

var pythonVariables = map[string]string{"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1", "FASTMCP_CHECK_FOR_UPDATES": "off"}

func pythonEnvironment() []string {
	all := os.Environ()
	for key, value := range pythonVariables {
		all = append(all, key+"="+value)
	}
	return all
}

// startPythons starts a process per library, which serves all HTTP transports, and returns all servers.
func startPythons(t *testing.T) []*pyServer {
	t.Helper()
	var all []*pyServer
	script := absolute(t, "python/server.py")
	for _, library := range slices.Sorted(maps.Keys(pythons)) {
		command := map[string]any{"command": python(t, library), "args": []string{script, library, "stdio"}}
		config := map[string]any{"command": command["command"], "args": command["args"], "env": pythonVariables}
		all = append(all, &pyServer{library: library, way: "stdio", to: command, config: config})
		if library == "sdk2" || library == "fastmcp4" {
			pinned := map[string]any{"command": command["command"], "args": command["args"], "env": pythonVariables, "protocol": modernVersion}
			all = append(all, &pyServer{library: library, way: "modern", to: command, config: pinned})
		}
		args := []string{script, library}
		for _, way := range []string{"http", "stateless", "sse"} {
			port := freePort(t)
			args = append(args, port)
			to := map[string]any{"url": "http://127.0.0.1:" + port + "/mcp"}
			if way == "sse" {
				to["url"] = "http://127.0.0.1:" + port + "/sse"
			}
			all = append(all, &pyServer{library: library, way: way, to: to, config: to})
		}
		cmd := exec.Command(python(t, library), args...)
		cmd.Env = pythonEnvironment()
		startPeer(t, library, cmd)
	}
	awaitServers(t, all)
	return all
}

// startPeer runs a server until the end of the test.
func startPeer(t *testing.T, name string, cmd *exec.Cmd) {
	t.Helper()
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() && said.String() != "" {
			t.Logf("%s:\n%s", name, said)
		}
	})
}

// awaitServers waits until all servers with a URL listen.
func awaitServers(t *testing.T, all []*pyServer) {
	t.Helper()
	for _, s := range all {
		if url, ok := s.to["url"].(string); ok {
			base, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
			waitFor(t, s.name()+" to listen", func() (bool, string) {
				status, page := gatetest.Get("http://" + base + "/nowhere")
				return status != 0, page
			})
		}
	}
}

// pyTask is a line that client.py reads, and pyTold is a line that it writes.
type pyTask struct {
	To      map[string]any `json:"to"`
	Mode    string         `json:"mode"`
	Prefix  string         `json:"prefix"`
	URIs    string         `json:"uris"`
	Key     string         `json:"key"`
	Talks   []string       `json:"talks"`
	Limited []string       `json:"limited"`
}

type pyTold struct {
	Talks map[string]pyTalk `json:"talks"`
}

type pyTalk struct {
	Saw   json.RawMessage `json:"saw"`
	Wrong string          `json:"wrong"`
}

// pyProcess is a running client.py, or a client in another language with the same protocol.
type pyProcess struct {
	in    io.Writer
	lines *bufio.Reader
	said  *output
}

func startPyClient(t *testing.T, library string) *pyProcess {
	t.Helper()
	cmd := exec.Command(python(t, library), "client.py", library)
	cmd.Dir, cmd.Env = absolute(t, "python"), pythonEnvironment()
	return startClient(t, cmd)
}

func startClient(t *testing.T, cmd *exec.Cmd) *pyProcess {
	t.Helper()
	p := &pyProcess{said: &output{}}
	cmd.Stderr = p.said
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
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.in, p.lines = in, bufio.NewReader(out)
	return p
}

// converse holds the conversations with one server. client.py limits the time of each.
func (p *pyProcess) converse(t *testing.T, task pyTask) map[string]pyTalk {
	t.Helper()
	line, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(p.in, "%s\n", line); err != nil {
		t.Fatalf("write to the client: %v\n%s", err, p.said)
	}
	line, err = p.lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the client: %v\n%s", err, p.said)
	}
	var told pyTold
	if err := json.Unmarshal(line, &told); err != nil {
		t.Fatalf("the client: %v\n%s", err, line)
	}
	return told.Talks
}

// TestPython holds each conversation of Python clients with Python servers directly and then through the gateway.
// What the clients see must be equal, member by member, except for the entries in python_limits_test.go.
func TestPython(t *testing.T) {
	needPython(t)
	servers := startPythons(t)
	config := map[string]any{}
	for _, s := range servers {
		config[s.name()] = s.config
	}
	g := serve(t, config)
	awaitReady(t, g)
	running := make(chan struct{}, 3)
	used := newUses(knownLimits{pyLimits, pyThrough, pyApart})
	t.Run("columns", func(t *testing.T) {
		for n, c := range pyClients {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				running <- struct{}{}
				defer func() { <-running }()
				begun := time.Now()
				p := startPyClient(t, c.library)
				for i := range servers { // each client starts with a different server, so that clients rarely wait for each other
					if s := servers[(i+n*len(servers)/len(pyClients))%len(servers)]; c.meets(s) && chosenName(c.name+" with "+s.name()) {
						t.Run(s.name(), func(t *testing.T) { meet(t, p, c, s, g, used) })
					}
				}
				t.Logf("took %s", time.Since(begun).Round(time.Millisecond))
			})
		}
	})
	if *only == "" && !t.Failed() {
		used.check(t)
	}
}

// awaitReady waits until the gateway's servers are ready.
func awaitReady(t *testing.T, g *gateway) {
	t.Helper()
	waitFor(t, "all servers to be ready", func() (bool, string) {
		waiting := ""
		for _, b := range snapshot(t, g).Backends {
			if b.State != "ready" {
				waiting += fmt.Sprintf("%s %s %s\n", b.Server, b.State, b.Reason)
			}
		}
		return waiting == "", waiting
	})
}

// meet holds all conversations of a client with a server, directly and through the gateway.
func meet(t *testing.T, p *pyProcess, c pyClient, s *pyServer, g *gateway, used *uses) {
	s.alone.Lock()
	defer s.alone.Unlock()
	key := fmt.Sprintf("K%d", time.Now().UnixNano())
	direct := pyTask{To: s.to, Mode: c.mode, Key: key + "A", Limited: []string{}}
	through := pyTask{To: map[string]any{"url": g.base + c.path}, Mode: c.mode, Key: key + "B", Limited: []string{}}
	if strings.Contains(c.path, "%s") {
		through.To["url"] = g.base + fmt.Sprintf(c.path, s.name())
	} else {
		through.Prefix, through.URIs = s.name()+"_", "resource://"+s.name()+"/"
	}
	// Known failures take time, so only the client of the server's own library tries them.
	sister := c.library == s.library
	for _, talk := range pyTalks {
		limit, gone := used.limit(c, s, talk), used.through(c, s, talk)
		if limit != nil && limit.skip {
			continue
		}
		if limit == nil || sister {
			direct.Talks = append(direct.Talks, talk)
		}
		if (limit == nil || limit.works) && (gone == nil || sister) {
			through.Talks = append(through.Talks, talk)
		}
		if limit != nil {
			direct.Limited = append(direct.Limited, talk)
		}
		if gone != nil {
			through.Limited = append(through.Limited, talk)
		}
	}
	plain, ours := p.converse(t, direct), p.converse(t, through)
	for _, talk := range pyTalks {
		limit, gone := used.limit(c, s, talk), used.through(c, s, talk)
		at := c.name + " with " + s.name() + ", " + talk
		a, directly := plain[talk]
		b, there := ours[talk]
		switch {
		case limit == nil && a.Wrong != "":
			t.Errorf("%s, without the gateway: %s", at, a.Wrong)
		case limit != nil && directly && a.Wrong == "":
			t.Errorf("%s: works without the gateway, although an entry says otherwise: %s", at, limit.why)
		case gone != nil && there && b.Wrong == "" && !(gone.lists && *balancer != ""):
			t.Errorf("%s: works through the gateway, although an entry says otherwise: %s", at, gone.why)
		case gone != nil || !there: // nothing to compare
		case b.Wrong != "":
			t.Errorf("%s: %s", at, b.Wrong)
		case limit == nil:
			for _, d := range differences(t, a.Saw, b.Saw) {
				if !used.apart(c, s, talk, d.path) {
					t.Errorf("%s: %s", at, d)
				}
			}
		}
	}
}
