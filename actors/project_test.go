package actors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// twoProjects configures the projects alpha (server one without its tools *_hidden) and beta (server two).
func twoProjects(c *config.Config) {
	c.Projects = []config.Project{
		{Name: "alpha", Servers: []string{"one"}, Tools: config.Filter{Deny: []string{"*_hidden"}}},
		{Name: "beta", Servers: []string{"two"}},
	}
}

func answeringServer(tools ...string) *actortest.Server {
	return &actortest.Server{Tools: tools, Resources: []string{"file:///a"}, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[]}`)))
	}}
}

// carrier is a way to name a project: a path prefix, headers, or members of _meta.
type carrier struct {
	path    string
	headers []string
	meta    string // members of _meta, each followed by a comma
}

func (c carrier) at(suffix string) string { return c.path + suffix }

// request returns a request of either era that names the project in this way.
func (c carrier) request(modernEra bool, id int, method, rest string) string {
	if modernEra {
		return strings.Replace(modern(id, method, "{}", rest), `"_meta":{`, `"_meta":{`+c.meta, 1)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{%s}%s}}`, id, method, strings.TrimSuffix(c.meta, ","), rest)
}

// send sends one request. A modern request, which has no session, also gets the headers that repeat its method and name.
func (w *httpHarness) send(c carrier, session string, id int, method, name string) reply {
	w.t.Helper()
	rest, headers := "", append([]string(nil), c.headers...)
	if name != "" {
		rest = fmt.Sprintf(`,"name":%q,"arguments":{}`, name)
	}
	if session == "" {
		headers = append(headers, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method)
		if name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
	} else {
		headers = append(headers, "Mcp-Session-Id", session)
	}
	return w.do("POST", c.at("/mcp"), c.request(session == "", id, method, rest), headers...)
}

// initialize opens a session that names its project in this way.
func (w *httpHarness) initialize(c carrier) reply {
	w.t.Helper()
	frame := strings.Replace(initializeFrame, `"params":{`, `"params":{"_meta":{`+strings.TrimSuffix(c.meta, ",")+`},`, 1)
	return w.do("POST", c.at("/mcp"), frame, c.headers...)
}

// projectCarriers returns every way to name a project.
func projectCarriers(project string) map[string]carrier {
	return map[string]carrier{
		"path":      {path: "/p/" + project},
		"header":    {headers: []string{"Goblin-Project", project}},
		"_meta":     {meta: `"goblin-actor/project":"` + project + `",`},
		"projectId": {meta: `"projectId":"` + project + `",`},
		"all at once": {path: "/p/" + project, headers: []string{"Goblin-Project", project},
			meta: `"goblin-actor/project":"` + project + `","projectId":"` + project + `",`},
	}
}

// S3.4.1, S3.4.2: however a request of either era names a project, its lists and calls see only the project's servers. Without a
// project they see all servers.
func TestProjectOfARequest(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a", "hidden"), "two": answeringServer("b")}, twoProjects)
	for name, c := range projectCarriers("alpha") {
		t.Run(name, func(t *testing.T) {
			opened := w.initialize(c)
			if opened.status != 200 || opened.session == "" {
				t.Fatalf("initialize: %d %s", opened.status, opened.body)
			}
			for era, session := range map[string]string{"legacy": opened.session, "modern": ""} {
				if got := w.send(c, session, 2, "tools/list", ""); !strings.Contains(got.body, "one_a") || strings.Contains(got.body, "two") || strings.Contains(got.body, "hidden") {
					t.Errorf("%s: tools/list: %s", era, got.body)
				}
				for tool, want := range map[string]string{
					"one_a": `"content":[]`, "one:a": `"content":[]`, "one_hidden": "TOOL_NOT_FOUND", "one:hidden": "TOOL_NOT_FOUND", "two_b": "TOOL_NOT_FOUND", "two/b": "TOOL_NOT_FOUND", "b": "TOOL_NOT_FOUND",
				} {
					if got := w.send(c, session, 3, "tools/call", tool); !strings.Contains(got.body, want) {
						t.Errorf("%s: tools/call %s: %s", era, tool, got.body)
					}
				}
			}
			// The session stays in the project in which it was opened, even if its requests do not name it.
			if got := w.send(carrier{path: c.path}, opened.session, 4, "tools/list", ""); !strings.Contains(got.body, "one_a") || strings.Contains(got.body, "two") {
				t.Errorf("a request without a project: %s", got.body)
			}
			for other, d := range projectCarriers("beta") {
				if d.path != "" || c.path != "" {
					continue // a session belongs to its endpoint's path
				}
				if got := w.send(d, opened.session, 5, "tools/list", ""); got.status != 200 || !strings.Contains(got.body, "UNKNOWN_PROJECT") || !strings.Contains(got.body, "opened in project alpha") {
					t.Errorf("project beta by %s: %d %s", other, got.status, got.body)
				}
			}
		})
	}
	whole := w.open("/mcp")
	for era, session := range map[string]string{"legacy": whole, "modern": ""} {
		if got := w.send(carrier{}, session, 2, "tools/list", ""); !strings.Contains(got.body, "one_hidden") || !strings.Contains(got.body, "two_b") {
			t.Errorf("%s: without a project: %s", era, got.body)
		}
	}
	if got := w.send(projectCarriers("alpha")["header"], whole, 5, "tools/list", ""); !strings.Contains(got.body, "UNKNOWN_PROJECT") || !strings.Contains(got.body, "opened without a project") {
		t.Errorf("a project in a session without one: %s", got.body)
	}
}

// S3.4.1: unknown, contradictory and malformed project names are refused. They never select all servers.
func TestInvalidProjects(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a"), "two": answeringServer("b")}, twoProjects)
	path := carrier{path: "/p/alpha"}
	for name, test := range map[string]struct {
		c      carrier
		status int
		want   string
	}{
		"path":                  {carrier{path: "/p/x"}, 404, "Unknown project: x"},
		"empty path":            {carrier{path: "/p/"}, 404, "no such endpoint"},
		"deep path":             {carrier{path: "/p/alpha/x"}, 404, "no such endpoint"},
		"upper case":            {carrier{path: "/p/Alpha"}, 404, "UNKNOWN_PROJECT"},
		"encoded":               {carrier{path: "/p/%61lpha"}, 404, "UNKNOWN_PROJECT"},
		"header":                {carrier{headers: []string{"Goblin-Project", "x"}}, 200, `"code":-32602,"message":"Unknown project: x"`},
		"empty header":          {carrier{headers: []string{"Goblin-Project", ""}}, 200, "UNKNOWN_PROJECT"},
		"_meta":                 {carrier{meta: `"goblin-actor/project":"x",`}, 200, `"code":-32602,"message":"Unknown project: x"`},
		"empty _meta":           {carrier{meta: `"goblin-actor/project":"",`}, 200, "UNKNOWN_PROJECT"},
		"_meta of another type": {carrier{meta: `"goblin-actor/project":["alpha"],`}, 200, "-32602"},
		"projectId":             {carrier{meta: `"projectId":"x",`}, 200, "UNKNOWN_PROJECT"},
		"path, header":          {carrier{path.path, []string{"Goblin-Project", "beta"}, ""}, 200, "names two"},
		"path, _meta":           {carrier{path.path, nil, `"goblin-actor/project":"beta",`}, 200, "names two"},
		"header, _meta":         {carrier{"", []string{"Goblin-Project", "alpha"}, `"projectId":"beta",`}, 200, "names two"},
		"both members of _meta": {carrier{"", nil, `"goblin-actor/project":"alpha","projectId":"beta",`}, 200, "names two"},
		"server outside":        {carrier{"/s/two", []string{"Goblin-Project", "alpha"}, ""}, 404, "no such server: two"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.initialize(test.c); got.status != test.status || !strings.Contains(got.body, test.want) || got.session != "" {
				t.Errorf("initialize: %d %q %s", got.status, got.session, got.body)
			}
			for _, method := range []string{"tools/list", "server/discover", "subscriptions/listen"} {
				status := test.status
				if name == "_meta of another type" {
					status = 400 // MCP 2026-07-28: malformed _meta
				}
				if name == "server outside" && method == "subscriptions/listen" {
					continue // its error is about missing params
				}
				if got := w.send(test.c, "", 2, method, ""); got.status != status || !strings.Contains(got.body, test.want) || !strings.Contains(got.body, `"id":2`) {
					t.Errorf("%s: %d %s", method, got.status, got.body)
				}
			}
			if test.c.meta != "" {
				return
			}
			if _, resp := w.listen(test.c.at("/sse"), test.c.headers...); resp.StatusCode != 404 && name != "server outside" {
				t.Errorf("GET /sse: %d", resp.StatusCode)
			}
		})
	}
	// With a project, the endpoint /s/NAME lists the items of that server that the project includes.
	if got := w.send(carrier{"/s/one", []string{"Goblin-Project", "alpha"}, ""}, "", 2, "tools/list", ""); !strings.Contains(got.body, `"name":"a"`) {
		t.Errorf("/s/one in alpha: %s", got.body)
	}
}

// A stream, or a DELETE, that names a project other than the session's is refused, and so is each such message of a batch.
func TestProjectOfASession(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a"), "two": answeringServer("b")}, twoProjects)
	id := w.initialize(projectCarriers("alpha")["header"]).session
	beta := []string{"Mcp-Session-Id", id, "Goblin-Project", "beta"}
	if _, resp := w.listen("/mcp", beta...); resp.StatusCode != 404 {
		t.Errorf("a stream that names beta: %d", resp.StatusCode)
	}
	if got := w.do("DELETE", "/mcp", "", beta...); got.status != 404 || !strings.Contains(got.body, "UNKNOWN_PROJECT") {
		t.Errorf("DELETE that names beta: %d %s", got.status, got.body)
	}
	if got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, beta...); got.status != 404 {
		t.Errorf("a notification that names beta: %d %s", got.status, got.body)
	}
	if got := w.do("DELETE", "/mcp", "", "Mcp-Session-Id", id); got.status != 204 {
		t.Errorf("DELETE: %d %s", got.status, got.body)
	}

	// HTTP+SSE: the session's project is set by its stream or by its initialize request.
	for _, by := range []string{"stream", "initialize"} {
		headers := []string{"Goblin-Project", "alpha"}
		if by == "initialize" {
			headers = nil
		}
		s, _ := w.listen("/sse", headers...)
		at := s.data()
		frame := strings.Replace(initializeFrame, `"params":{`, `"params":{"_meta":{"projectId":"alpha"},`, 1)
		post := func(line string) string {
			if got := w.do("POST", at, line); got.status != 202 {
				t.Fatalf("project set by %s: %s: %d %s", by, line, got.status, got.body)
			}
			return s.data()
		}
		if got := post(frame); !strings.Contains(got, `"id":1,"result"`) {
			t.Errorf("initialize: %s", got)
		}
		if got := post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(got, "one_a") || strings.Contains(got, "two") {
			t.Errorf("project set by %s: %s", by, got)
		}
		if got := post(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"projectId":"beta"}}}`); !strings.Contains(got, "UNKNOWN_PROJECT") {
			t.Errorf("project set by %s, request in beta: %s", by, got)
		}
		if got := w.do("POST", at, `{"jsonrpc":"2.0","id":4,"method":"ping"}`, "Goblin-Project", "x"); got.status != 400 || !strings.Contains(got.body, "UNKNOWN_PROJECT") {
			t.Errorf("an unknown project: %d %s", got.status, got.body)
		}
		s.close()
	}

	// A batch: each message gets its own response.
	frame := strings.Replace(initializeFrame, "2025-11-25", "2025-03-26", 1)
	id = w.do("POST", "/p/alpha/mcp", frame).session
	batch := `[{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"projectId":"beta"}}}]`
	got := w.do("POST", "/p/alpha/mcp", batch, "Mcp-Session-Id", id)
	if strings.Contains(got.body, "two_b") || !strings.Contains(got.body, "one_a") || !strings.Contains(got.body, `"id":3,"error"`) || !strings.Contains(got.body, "UNKNOWN_PROJECT") {
		t.Errorf("a batch: %d %s", got.status, got.body)
	}
}

// A client on stdio is bound to a project by the command line, or names one in its requests, in both eras.
func TestProjectOnStdio(t *testing.T) {
	inBubble(func(t *testing.T) {
		openers := map[string]func(upstream.Sink) upstream.Link{"one": answeringServer("a").Open, "two": answeringServer("b").Open}
		for bound, by := range map[string]string{"alpha": "", "": "alpha"} {
			h := startStdioInProject(t, bound, openers, "stdio", Options{}, twoProjects)
			c := carrier{meta: `"goblin-actor/project":"` + by + `",`}
			if by == "" {
				c.meta = ""
			}
			h.send(strings.Replace(initializeFrame, `"params":{`, `"params":{"_meta":{`+strings.TrimSuffix(c.meta, ",")+`},`, 1))
			time.Sleep(time.Second)
			h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for _, line := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, c.request(true, 2, "tools/list", "")} {
				if got := h.roundTrip(line); !strings.Contains(got, "one_a") || strings.Contains(got, "two") {
					t.Errorf("bound to %q: %s", bound, got)
				}
			}
			other := carrier{meta: `"goblin-actor/project":"beta",`}
			if got := h.roundTrip(other.request(false, 3, "tools/list", "")); !strings.Contains(got, "UNKNOWN_PROJECT") {
				t.Errorf("bound to %q, legacy in beta: %s", bound, got)
			}
			if got := h.roundTrip(other.request(true, 4, "tools/list", "")); bound != "" && !strings.Contains(got, "names two") || bound == "" && !strings.Contains(got, "two_b") {
				t.Errorf("bound to %q, modern in beta: %s", bound, got)
			}
			h.close()
		}
	})(t)
}

// Projects cause no allocations, neither in determining a request's project nor in looking up a tool in it.
func TestProjectsDoNotAllocate(t *testing.T) {
	e := admission.Entrance{Projects: map[string]bool{"alpha": true}}
	x := &downstream.Exchange{}
	if err := x.Frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_a"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/mcp", "/p/alpha/mcp"} {
		x.Origin.Path = path
		if n := testing.AllocsPerRun(100, func() {
			if _, refusal := e.Admit(&x.Origin, x); refusal != nil {
				t.Fatal(refusal.Fault)
			}
		}); n != 0 {
			t.Errorf("Admit on %s allocates %v times", path, n)
		}
	}
	source := catalog.Source{Server: &catalog.Server{Name: "one"}}
	source.Items[protocol.Tools] = [][]byte{[]byte(`{"name":"a"}`), []byte(`{"name":"b"}`)}
	s := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace}, config.Project{Name: "alpha", Tools: config.Filter{Deny: []string{"*_b"}}})
	for _, key := range []catalog.Key{{}, {Project: "alpha"}} {
		if n := testing.AllocsPerRun(100, func() {
			view, _ := s.View(key)
			if _, fault := view.Tool("one_a"); fault != nil {
				t.Fatal(fault)
			}
		}); n != 0 {
			t.Errorf("a tool in %v: %v allocations", key, n)
		}
	}
}
