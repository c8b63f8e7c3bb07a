package catalog

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// restricted returns the view of a role that permits a small part of a catalog, and the same for one server alone.
// The names of hidden items resemble those of permitted ones.
func restricted(t *testing.T) (v, alone *View) {
	t.Helper()
	s := snapshot(under(standard(stylePrefix), config.Role{Name: "some", Servers: []string{"files", "other"}, Tools: denies("*delete*"), Prompts: denies("*purge"),
		Resources: config.Filter{Allow: []string{"resource://files/file:///ok/*"}}}),
		server(t, "files", 0).tools("read", "delete").prompts("ask", "purge").resources("file:///ok/a", "file:///etc/passwd").templates("file:///ok/{+path}", "file:///{+path}"),
		server(t, "other", 1).tools("read", "wipe", "delete").prompts("ask"), server(t, "secret", 2).tools("wipe", "read").resources("s://x"))
	alone, ok := s.View(Key{Rights: "some", Server: "files"})
	if !ok {
		t.Fatal("there is no view of server files alone")
	}
	return of(t, s, "some"), alone
}

// S5.2.1: A hidden tool cannot be called by any alias.
func TestAttack44HiddenToolByAlias(t *testing.T) {
	v, alone := restricted(t)
	for _, name := range []string{"files_delete", "files:delete", "files/delete", "files__delete", "files.delete", "secret_wipe", "secret:wipe", "secret/wipe", "secret.read"} {
		want := protocol.NoTool(name).Error()
		if e, fault := v.Tool(name); e != nil || fault.Error() != want || len(fault.Candidates) > 0 {
			t.Errorf("Tool(%q): %v, %v; want %q without candidates", name, e, fault, want)
		}
	}
	if e, _ := alone.Tool("delete"); e != nil {
		t.Error("the view of files alone contains the hidden tool delete")
	}
	if got := tool(v, "files:read"); got != "files read" {
		t.Errorf("a permitted item is not found: %s", got)
	}
}

// A hidden tool cannot be called through a replica's name.
func TestAttack45HiddenToolOfReplica(t *testing.T) {
	v, _ := restricted(t)
	for _, name := range []string{"files:delete@0", "files:delete@1", "secret:wipe@0"} {
		if e, fault := v.Tool(name); e != nil || fault.Name != protocol.ToolNotFound {
			t.Errorf("Tool(%q): %v, %v; want TOOL_NOT_FOUND", name, e, fault)
		}
	}
	if got := tool(v, "files:read@0"); got != "files read" {
		t.Errorf("a permitted item is not found: %s", got)
	}
}

// S5.2.1: The endpoint of one server shows nothing that the role's view of all servers hides.
func TestAttack47ServerEndpoint(t *testing.T) {
	v, alone := restricted(t)
	if _, ok := v.Snapshot().View(Key{Rights: "some", Server: "secret"}); ok {
		t.Error("a server without permitted items has an endpoint")
	}
	if _, ok := v.Snapshot().View(Key{Server: "files"}); ok {
		t.Error("a server has an endpoint for a key without rights")
	}
	if got := strings.Join(listed(t, alone, protocol.Tools), " "); got != "read" {
		t.Errorf("tools of files alone: %s, want read", got)
	}
	for _, uri := range []string{"file:///etc/passwd", "file:///etc/shadow", "file:///ok/../etc/shadow", "resource://files/file:///etc/shadow", "resource://secret/s://x"} {
		if got := found(alone, uri); got != "RESOURCE_NOT_FOUND" {
			t.Errorf("files alone: Resource(%q) = %s, want RESOURCE_NOT_FOUND", uri, got)
		}
	}
	if got := found(alone, "file:///ok/b"); got != "files file:///ok/b" {
		t.Errorf("a permitted item is not found: %s", got)
	}
}

// S5.2.1: The arguments of a hidden prompt cannot be completed.
func TestAttack48CompletionOfHiddenPrompt(t *testing.T) {
	v, alone := restricted(t)
	for _, name := range []string{"files_purge", "files:purge", "files/purge", "purge"} {
		for _, view := range []*View{v, alone} {
			if e, fault := view.Prompt(name); e != nil || fault.Name != protocol.PromptNotFound {
				t.Errorf("Prompt(%q): %v, %v; want PROMPT_NOT_FOUND", name, e, fault)
			}
		}
	}
	if e, _ := v.Prompt("files:ask"); e == nil {
		t.Error("a permitted prompt is not found")
	}
}

// The candidates of an ambiguous name do not include hidden items.
func TestAttack49CandidatesNameHidden(t *testing.T) {
	v, _ := restricted(t)
	_, fault := v.Tool("read")
	if got := strings.Join(fault.Candidates, " "); got != "files_read other_read" {
		t.Errorf("candidates of read: %s, want files_read other_read", got)
	}
	if _, fault := v.Tool("delete"); len(fault.Candidates) > 0 {
		t.Errorf("candidates of delete: %s, want none", fault.Candidates)
	}
}

// Dot segments in a URI that seems to be allowed do not lead the server to a denied one.
func TestAttack50DotSegments(t *testing.T) {
	v, alone := restricted(t)
	for _, path := range []string{"ok/../etc/passwd", "ok/%2e%2e/etc/passwd", "ok/%2E%2E%2Fetc/passwd", "ok/..%2fetc", "ok/..;/..;/etc/passwd", "ok/x/..%5c..%5cetc", "ok/%252e%252e/etc", `ok/..\etc`, "ok/./a", "ok/a%2fb"} {
		for _, uri := range []string{"file:///" + path, "resource://files/file:///" + path} {
			for _, view := range []*View{v, alone} {
				if got := found(view, uri); got != "RESOURCE_NOT_FOUND" {
					t.Errorf("Resource(%q) = %s, want RESOURCE_NOT_FOUND", uri, got)
				}
			}
		}
	}
	if got := found(v, "resource://files/file:///ok/b"); got != "files file:///ok/b" {
		t.Errorf("a permitted item is not found: %s", got)
	}
}

// A denied name is also denied in a different case and with decomposed accents, since servers may not distinguish these.
func TestAttack50AnotherSpelling(t *testing.T) {
	rules := func(s *config.Server) {
		s.ResourceFilter.Deny, s.Tools.Deny = []string{"*private*", "*caf\u00e9*"}, []string{"caf\u00e9"}
	}
	s := snapshot(standard(stylePrefix), server(t, "files", 0).templates("file:///{+path}").tools("cafe\u0301", "Caf\u00c9").rules(rules),
		server(t, "other", 1).templates("file:///{+path}").tools("cafe\u0301"))
	r := snapshot(under(standard(stylePrefix), config.Role{Name: "some", Resources: denies("*private*", "*caf\u00e9*"), Tools: denies("*caf*")}),
		server(t, "files", 0).templates("file:///{+path}").tools("CAF"))
	for name, v := range map[string]*View{"rules of the server": s.Whole(), "a role": of(t, r, "some")} {
		for _, uri := range []string{"resource://files/file:///private/b", "resource://files/file:///Private/b", "resource://files/file:///%50RIVATE", "resource://files/file:///cafe\u0301", "resource://files/file:///CAF\u00c9"} {
			if got := found(v, uri); got != "RESOURCE_NOT_FOUND" {
				t.Errorf("%s: Resource(%q) = %s, want RESOURCE_NOT_FOUND", name, uri, got)
			}
		}
		for _, tool := range []string{"files/cafe\u0301", "files/Caf\u00c9", "files/CAF"} {
			if _, fault := v.Tool(tool); fault == nil {
				t.Errorf("%s: %s is found", name, tool)
			}
		}
		if got := found(v, "resource://files/file:///public"); got != "files file:///public" {
			t.Errorf("%s: a permitted URI is not found: %s", name, got)
		}
	}
}

// A denied host is also denied in upper case, with a port and with user information, and in a public URI.
func TestAttack50HostInPublicURI(t *testing.T) {
	s := snapshot(under(standard(stylePrefix), config.Role{Name: "some", Resources: denies("resource://web/http://intra/*", "resource://web/file:///secret/*")}),
		server(t, "web", 0).templates("http://{host}/{+path}", "file://{+path}"))
	alone, ok := s.View(Key{Rights: "some", Server: "web"})
	if !ok {
		t.Fatal("there is no view of server web alone")
	}
	v := of(t, s, "some")
	for _, own := range []string{"http://intra/x", "http://INTRA/x", "http://intra:80/x", "http://ada@intra/x", "http://intra./x", "file:///secret/x", "file://localhost/secret/x"} {
		for _, uri := range []string{own, "resource://web/" + own} {
			for _, view := range []*View{v, alone} {
				if got := found(view, uri); got != "RESOURCE_NOT_FOUND" {
					t.Errorf("Resource(%q) = %s, want RESOURCE_NOT_FOUND", uri, got)
				}
			}
		}
	}
	if got := found(v, "resource://web/http://other/x"); got != "web http://other/x" {
		t.Errorf("a permitted item is not found: %s", got)
	}
}

// A change of a hidden item is not announced to clients that may not see it.
func TestAttack55ListChangedOfHidden(t *testing.T) {
	naming := under(standard(stylePrefix), config.Role{Name: "some", Servers: []string{"files"}, Tools: denies("*_delete")})
	files, secret := server(t, "files", 0).tools("read", "delete"), server(t, "secret", 1).tools("wipe")
	first := following(nil, naming, files, secret)
	hidden := following(first, naming, server(t, "files", 0).tools("read").add(protocol.Tools, `{"name":"delete","description":"new"}`), secret.tools("more"))
	seen := following(hidden, naming, files.tools("write"), secret)
	if of(t, first, "some").Generation != of(t, hidden, "some").Generation {
		t.Error("a change of a hidden item changes the generation")
	}
	if of(t, hidden, "some").Generation[protocol.Tools] == of(t, seen, "some").Generation[protocol.Tools] {
		t.Error("a change of a shown item does not change the generation")
	}
}

// In a project with rules for items, methods that only the server knows are not forwarded, because they could bypass the rules.
func TestNarrowProjectTrustsNoServer(t *testing.T) {
	files := server(t, "files", 0).tools("read", "delete")
	for _, c := range []struct {
		project config.Project
		trusts  bool
	}{
		{config.Project{Name: "alpha", Servers: []string{"files"}}, true},
		{config.Project{Name: "alpha", Servers: []string{"files"}, Tools: denies("*_delete")}, false},
		{config.Project{Name: "alpha", Servers: []string{"files"}, Resources: config.Filter{Allow: []string{"resource://files/a"}}}, false},
	} {
		s := Build(nil, []Source{files.Source}, standard(stylePrefix), c.project)
		for _, k := range []Key{{Project: "alpha"}, {Projects: "alpha"}, {Project: "alpha", Server: "files"}} {
			v, ok := s.View(k)
			if !ok || v.Trusts(v.Servers()[0]) != c.trusts {
				t.Errorf("%+v in %+v: exists %v, want trust %v", k, c.project, ok, c.trusts)
			}
		}
	}
	if v, _ := Build(nil, []Source{files.Source}, standard(stylePrefix)).View(Key{}); !v.Trusts(v.Servers()[0]) {
		t.Error("the view of everything does not trust the server")
	}
}
