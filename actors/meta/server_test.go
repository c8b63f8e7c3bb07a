package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// fixture answers calls as the actor does, from a catalog that the test builds.
type fixture struct {
	t        testing.TB
	server   *server
	index    *index
	snapshot *catalog.Snapshot
	sources  map[string]catalog.Source
	projects []config.Project
	mode     string // value of metaTools
	policy   *policy.Policy
	rights   string // the caller's role
	log      bytes.Buffer
}

func newFixture(t testing.TB) *fixture {
	d := &fixture{t: t, server: newServer(), index: &index{}, sources: map[string]catalog.Source{}, mode: "true"}
	t.Cleanup(d.index.close)
	own := Server(kernel.Reference{})
	d.sources[Name] = catalog.Source{Server: &own, Items: [protocol.ItemKinds][][]byte{protocol.Tools: Tools()}}
	return d
}

// has sets the items of one kind, in JSON, that a server offers.
func (d *fixture) has(name string, kind protocol.ItemKind, items ...string) {
	source := d.sources[name]
	if source.Server == nil {
		rules := config.DefaultServer()
		rules.Name = name
		source.Server = &catalog.Server{Name: name, Order: len(d.sources), Rules: rules, Settled: true}
	}
	source.Items[kind] = nil
	for _, item := range items {
		source.Items[kind] = append(source.Items[kind], []byte(item))
	}
	d.sources[name] = source
}

// publish builds the next snapshot.
func (d *fixture) publish() {
	var list []catalog.Source
	for _, source := range d.sources {
		list = append(list, source)
	}
	naming := catalog.Naming{
		Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix", PageSize: 1000,
		MetaTools: d.mode != "false", OnlyMeta: d.mode == "only", Policy: d.policy,
	}
	d.snapshot = catalog.Build(d.snapshot, list, naming, d.projects...)
}

// raw answers a call in a project and returns the response frame.
func (d *fixture) raw(project, tool, arguments string) (protocol.Frame, *protocol.Fault) {
	r := message.Request{Caller: &message.Caller{}}
	raw := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x","arguments":%s}}`, arguments)
	if err := r.Frame.Parse(raw); err != nil {
		d.t.Fatalf("%v: %s", err, raw)
	}
	if err := r.Params.Scan(&r.Frame); err != nil {
		d.t.Fatal(err)
	}
	r.Item, r.Caller.View.Project, r.Caller.View.Rights = tool, project, d.rights
	f, err := d.server.answer(context.Background(), &access{snapshot: d.snapshot, index: d.index}, &r)
	return f, faultOf(slog.New(slog.NewTextHandler(&d.log, nil)), tool, err)
}

// result answers a call and returns the parts of its result.
func (d *fixture) result(project, tool, arguments string) (structured, text string, isError bool) {
	d.t.Helper()
	f, fault := d.raw(project, tool, arguments)
	if fault != nil {
		d.t.Fatalf("%s: %v", tool, fault)
	}
	var a struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
	}
	if err := json.Unmarshal(f.Raw, &a); err != nil || len(a.Result.Content) != 1 {
		d.t.Fatalf("%s: %v: %s", tool, err, f.Raw)
	}
	return string(a.Result.StructuredContent), a.Result.Content[0].Text, a.Result.IsError
}

// page answers a call of a tool that returns cards.
func (d *fixture) page(project, tool, arguments string) (page cards) {
	d.t.Helper()
	structured, text, isError := d.result(project, tool, arguments)
	if isError || json.Unmarshal([]byte(structured), &page) != nil {
		d.t.Fatalf("%s %s: %s", tool, arguments, text)
	}
	return page
}

// found returns the names that search_catalog finds, in order.
func (d *fixture) found(project, arguments string) (list []string) {
	d.t.Helper()
	page := d.page(project, searchCatalog, arguments)
	for _, c := range page.Items {
		list = append(list, c.Name)
	}
	return list
}

func described(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}

// A query that is a tool's name in any spelling finds this tool before one that only mentions the name. S0.8.3
func TestSearchRanks(t *testing.T) {
	d := newFixture(t)
	d.has("git", protocol.Tools, described("createPullRequest", "Open a pull request."), described("list_issues", "All issues, and in which pull request each was closed."),
		described("getHTTPStatus2", "Ask a URL."), described("other", "Nothing of the kind."),
		described("rebase", "Puts a branch on top of another one, with all that it has."), described("tidy", "Rebase, and rebase again."))
	d.has("docs", protocol.Resources, `{"uri":"file:///guide.md","name":"guide","title":"How to review pull requests","mimeType":"text/markdown"}`,
		`{"uri":"file:///logo.png","name":"logo","mimeType":"image/png","size":77}`)
	d.has("docs", protocol.Prompts, `{"name":"reviewCode","description":"Review a change.\nThoroughly."}`)
	d.has("docs", protocol.Templates, `{"uriTemplate":"file:///{+path}","name":"any file","mimeType":"text/plain"}`)
	d.publish()
	for _, c := range []struct{ arguments, first string }{
		{`{"query":"pull request"}`, "git_createPullRequest"},
		{`{"query":"create_pull_request"}`, "git_createPullRequest"},
		{`{"query":"createpullrequest"}`, "git_createPullRequest"},
		{`{"query":"PULL-REQUESTS create"}`, "git_createPullRequest"},
		{`{"query":"issue"}`, "git_list_issues"},
		{`{"query":"rebase"}`, "git_rebase"},
		{`{"query":"http status"}`, "git_getHTTPStatus2"},
		{`{"query":"pull requests","kinds":["resource"]}`, "guide"},
		{`{"query":"review code"}`, "docs_reviewCode"},
		{`{"query":"file","kinds":["template"]}`, "any file"},
		{`{"query":"pull request","server":"docs"}`, "guide"},
		{`{"query":"docs logo"}`, "logo"},
	} {
		if got := d.found("", c.arguments); len(got) == 0 || got[0] != c.first {
			t.Errorf("%s: found %v, want %s first", c.arguments, got, c.first)
		}
	}
	for _, nothing := range []string{`{"query":"zebra"}`, `{"query":""}`, `{"query":"  "}`, `{"query":"* ~ ^"}`} {
		if got := d.found("", nothing); len(got) != 0 {
			t.Errorf("%s: found %v", nothing, got)
		}
	}
	for _, name := range d.found("", `{"query":"search catalog"}`) {
		if strings.HasPrefix(name, Name+"_") {
			t.Errorf("a search finds the gateway's own tool %s", name)
		}
	}
	// S1.59: resources are found by words and type, with the card fields of a resource.
	for arguments, want := range map[string]string{
		`{"query":"guide logo","mimeType":"image/png"}`: "logo", `{"query":"guide logo","mimeType":"image/*"}`: "logo", `{"query":"guide logo","mimeType":"TEXT/Markdown"}`: "guide",
	} {
		page := d.page("", searchResources, arguments)
		if page.Total != 1 || page.Items[0].Name != want || page.Items[0].Kind != "resource" || !strings.HasPrefix(page.Items[0].URI, "resource://docs/") || page.Items[0].Server != "docs" {
			t.Errorf("%s: %+v", arguments, page)
		}
	}
	if page := d.page("", "catalog_resources", `{"mimeType":"image/png"}`); page.Total != 1 || *page.Items[0].Size != 77 || page.Items[0].MIMEType != "image/png" {
		t.Errorf("catalog_resources: %+v", page)
	}
	if page := d.page("", "catalog_prompts", `{}`); page.Total != 1 || page.Items[0].Description != "Review a change." {
		t.Errorf("catalog_prompts: %+v", page)
	}
}

// The index follows the catalog: new items are found, removed ones are not, and changed ones only by their new text.
func TestIndexFollowsTheCatalog(t *testing.T) {
	d := newFixture(t)
	d.has("a", protocol.Tools, described("alpha", "one"), described("beta", "two"))
	d.publish()
	d.found("", `{"query":"alpha"}`)
	made := d.index.ranking
	for round := range 20 {
		word := strings.Repeat(string(rune('a'+round)), 5)
		d.has("a", protocol.Tools, described("alpha", word), described("new"+word, "new"))
		d.publish()
		if got := d.found("", fmt.Sprintf(`{"query":%q}`, word)); !slices.Equal(got, []string{"a_alpha"}) {
			t.Fatalf("%s: %v", word, got)
		}
		if got := d.found("", `{"query":"new"}`); !slices.Equal(got, []string{"a_new" + word}) {
			t.Fatalf("new: %v", got)
		}
		if got := d.found("", `{"query":"beta two"}`); len(got) != 0 {
			t.Fatalf("found removed items: %v", got)
		}
	}
	if d.index.ranking != made {
		t.Error("the index was rebuilt instead of updated")
	}
	d.index.garbage = leastGarbage + 100
	d.has("a", protocol.Tools, described("alpha", "late"))
	d.publish()
	if got := d.found("", `{"query":"late"}`); len(got) != 1 || d.index.ranking == made || d.index.garbage != 0 {
		t.Errorf("with much garbage: found %v, rebuilt %v", got, d.index.ranking != made)
	}
	d.index.close()
	if _, text, isError := d.result("", searchCatalog, `{"query":"late"}`); !isError || !strings.Contains(text, "again") {
		t.Errorf("after the index was dropped: %s", text)
	}
}

// Items and servers outside the caller's project are not found, counted, described or named.
func TestToolsKeepToTheProject(t *testing.T) {
	d := newFixture(t)
	for i := range 50 {
		d.has(fmt.Sprintf("s%d", i), protocol.Tools, described("secret", "treasure chest"), described("open", "treasure map"))
	}
	d.projects = []config.Project{{Name: "p", Servers: []string{"s7", "s8"}, Tools: config.Filter{Deny: []string{"*_secret"}}}}
	d.publish()
	if page := d.page("", searchCatalog, `{"query":"treasure","limit":3}`); page.Total != 100 || len(page.Items) != 3 {
		t.Errorf("without a project: total %d, %d shown", page.Total, len(page.Items))
	}
	if page := d.page("p", searchCatalog, `{"query":"treasure"}`); page.Total != 2 || len(page.Items) != 2 || page.Items[0].Name != "s7_open" {
		t.Errorf("in the project: %+v", page)
	}
	if page := d.page("p", "catalog_tools", `{}`); page.Total != 2 {
		t.Errorf("cards in the project: %+v", page)
	}
	for tool, arguments := range map[string]string{"catalog_tools": `{"server":"s1"}`, searchCatalog: `{"query":"x","server":"s1"}`, "describe_tool": `{"name":"s1_open"}`} {
		if _, text, isError := d.result("p", tool, arguments); !isError || !strings.Contains(text, "not found") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if _, text, isError := d.result("p", "describe_tool", `{"name":"s7_secret"}`); !isError || text != "Tool not found: s7_secret" {
		t.Errorf("a denied tool: %s", text)
	}
	if _, fault := d.raw("gone", "catalog_tools", `{}`); fault == nil || fault.Name != protocol.UnknownProject {
		t.Errorf("a removed project: %v", fault)
	}
}

// Invalid arguments yield an error result that the agent can act on, without a panic.
func TestInvalidArguments(t *testing.T) {
	d := newFixture(t)
	d.has("a", protocol.Tools, described("alpha", "one"))
	d.publish()
	for _, c := range []struct{ tool, arguments, want string }{
		{searchCatalog, `{}`, `"query: missing, expected a string"`},
		{searchCatalog, `{"query":null}`, `"query: missing, expected a string"`},
		{searchCatalog, `{"query":7}`, `"query: expected a string"`},
		{searchCatalog, `{"query":"a","limit":0}`, `"limit: expected an integer from 1 to 1000"`},
		{searchCatalog, `{"query":"a","limit":1e9}`, `"limit: expected an integer from 1 to 1000"`},
		{searchCatalog, `{"query":"a","limit":1.5}`, `"limit: expected an integer from 1 to 1000"`},
		{searchCatalog, `{"query":"a","limit":"5"}`, `"limit: expected an integer from 1 to 1000"`},
		{searchCatalog, `{"query":"a","kinds":["gizmo"]}`, `"kinds: expected an array of any of tool, prompt, resource, template"`},
		{searchCatalog, `{"query":"a","kinds":"tool"}`, `"kinds: expected an array of any of tool, prompt, resource, template"`},
		{searchCatalog, `{"query":"a","more":1}`, `"more: unknown argument; this tool takes kinds, limit, query, server"`},
		{"server_status", `{"server":"a"}`, `"server: unknown argument; this tool takes no arguments"`},
		{searchCatalog, `{"query":"` + strings.Repeat("a ", 500_000) + `"}`, "at most 4096 are allowed"},
		{"catalog_tools", `{"server":"absent"}`, "server not found: absent"},
		{"catalog_tools", `{"serverId":"a"}`, "serverId"},
		{"describe_tool", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, "Tool not found"},
		{CallTool, `{"name":"a_alpha"}`, "cannot be called here"},
	} {
		f, fault := d.raw("", c.tool, c.arguments)
		if fault != nil || f.Kind == protocol.KindResult && !f.Failure {
			t.Errorf("%s %.40s: not rejected: %.200s", c.tool, c.arguments, f.Raw)
		}
		if len(f.Raw) > 4096 || !strings.Contains(string(f.Raw), c.want) {
			t.Errorf("%s %.40s: %.300s", c.tool, c.arguments, f.Raw)
		}
	}
}

// A page ends at its limit, or earlier if names are long. The next page continues after the last name even if that
// item has been removed.
func TestPagesContinue(t *testing.T) {
	d := newFixture(t)
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf(`{"uri":"file:///%03d/%s","name":"n"}`, i, strings.Repeat("x", 2000)))
	}
	d.has("a", protocol.Resources, items...)
	d.publish()
	seen, after := 0, ""
	for pages := 0; ; pages++ {
		page := d.page("", "catalog_resources", fmt.Sprintf(`{"limit":1000,"after":%q}`, after))
		if page.Total != 300 || pages > 10 {
			t.Fatalf("page %d: total %d, want 300", pages, page.Total)
		}
		seen += len(page.Items)
		if after = page.Next; after == "" {
			break
		}
		if len(page.Items) < 20 || len(page.Items) > 100 {
			t.Errorf("page %d has %d cards of 2 kB", pages, len(page.Items))
		}
	}
	if seen != 300 {
		t.Errorf("%d items on all pages, want 300", seen)
	}
	first := d.page("", "catalog_resources", `{"limit":1}`)
	d.has("a", protocol.Resources, items[1:]...)
	d.publish()
	if second := d.page("", "catalog_resources", fmt.Sprintf(`{"limit":1,"after":%q}`, first.Next)); !strings.Contains(second.Items[0].URI, "/001/") {
		t.Errorf("the page after a removed item starts at %s", second.Items[0].URI)
	}
}

// With metaTools: only, items that are not listed are still found.
func TestOnlyMetaToolsFindEverything(t *testing.T) {
	d := newFixture(t)
	d.mode = "only"
	d.has("a", protocol.Tools, described("alpha", "one"))
	d.publish()
	if got := d.found("", `{"query":"alpha"}`); !slices.Equal(got, []string{"a_alpha"}) {
		t.Errorf("found %v", got)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readFile": "read file readfile", "read_file": "read file readfile", "HTTPServer2Go": "http server go httpserver2go", "": "", "__": "",
		"one two": "one two", "a/b.c": "a b c", "résumé": "résumé", "ÜberGröße": "über größe übergröße", "日本語": "日本語", "a_b_c_d_e_f": "a b c d e f",
		"+must -not \"q\" f:x*": "must not q f x", "\xff\xfeab": "ab", "X": "x", "ABC": "abc", "v1": "v1",
	} {
		if got := words(text); got != want {
			t.Errorf("words(%q) = %q, want %q", text, got, want)
		}
	}
}

// No query makes a search panic, and none of at most maxQuery bytes makes it fail.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{"a", "read_file", `+a -b "c`, "a:b*~2^3", "(((", "\\", "\x00", "日本", strings.Repeat("ab ", 100), "é́́", "/.*/"} {
		f.Add(text)
	}
	d := newFixture(f)
	d.has("a", protocol.Tools, described("alpha", "one"), described("readFile", "two"))
	d.publish()
	f.Fuzz(func(t *testing.T, text string) {
		quoted, _ := json.Marshal(text)
		frame, fault := d.raw("", searchCatalog, fmt.Sprintf(`{"query":%s}`, quoted))
		if fault != nil || frame.Kind != protocol.KindResult {
			t.Fatalf("%q: %v %s", text, fault, frame.Raw)
		}
		if frame.Failure && len(quoted) <= maxQuery {
			t.Errorf("%q: %s", text, frame.Raw)
		}
	})
}

// If a result cannot be sent, the error for the client says that the log has the cause, and it has. Here the schema of a tool is nested
// so deeply that the result around it exceeds protocol.MaxDepth.
func TestResultThatIsTooDeep(t *testing.T) {
	d := newFixture(t)
	deep := strings.Repeat(`{"items":`, protocol.MaxDepth-4) + "{}" + strings.Repeat("}", protocol.MaxDepth-4)
	d.has("odd", protocol.Tools, fmt.Sprintf(`{"name":"deep","inputSchema":{"type":"object","properties":{"a":%s}}}`, deep))
	d.publish()
	_, fault := d.raw("", "describe_tool", `{"name":"odd_deep"}`)
	if fault != internalFault || !strings.Contains(d.log.String(), "tool=describe_tool") || !strings.Contains(d.log.String(), "parse the result: ") {
		t.Errorf("fault %v, log %q", fault, d.log.String())
	}
	if _, fault = d.raw("no-such-project", "describe_tool", `{}`); fault == nil || fault == internalFault || strings.Count(d.log.String(), "\n") != 1 {
		t.Errorf("fault %v, log %q; want no further line", fault, d.log.String())
	}
}
