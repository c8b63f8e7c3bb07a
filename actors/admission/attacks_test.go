package admission

import (
	"errors"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// seenBy returns the view of a principal with the role "some" on a server and the gateway's own tools. The role denies *delete, *ask,
// *secret* and the tools in denied.
func seenBy(t *testing.T, mode string, denied ...string) *catalog.View {
	t.Helper()
	items := func(raws ...string) (list [][]byte) {
		for _, raw := range raws {
			list = append(list, []byte(raw))
		}
		return list
	}
	naming := catalog.Naming{Namespace: config.Namespace{Mode: "always", Separator: "_", MaxLength: 64}, URIStyle: "prefix", MetaTools: true,
		Policy: policy.Compile(config.Policy{Present: true, Mode: mode, Roles: []config.Role{{Name: "some", Tools: config.Filter{Deny: append(denied, "*delete")}, ToolRate: "5/min",
			Prompts: config.Filter{Deny: []string{"*ask"}}, Resources: config.Filter{Deny: []string{"*secret*"}}}}})}
	sources := []catalog.Source{
		{Server: &catalog.Server{Name: "files", Rules: config.DefaultServer()}, Items: [protocol.ItemKinds][][]byte{
			protocol.Tools: items(`{"name":"read"}`, `{"name":"delete"}`), protocol.Prompts: items(`{"name":"ask"}`, `{"name":"hello"}`), protocol.Resources: items(`{"uri":"f:///secret","name":"s"}`, `{"uri":"f:///a","name":"a"}`)}},
		{Server: &catalog.Server{Name: "gateway", Internal: true}, Items: [protocol.ItemKinds][][]byte{protocol.Tools: items(`{"name":"call_tool"}`, `{"name":"read_resource"}`)}},
	}
	view, ok := catalog.Build(nil, sources, naming).View(catalog.Key{Rights: "some"})
	if !ok {
		t.Fatal("no view")
	}
	return view
}

func asking(t *testing.T, method, params string) *downstream.Exchange {
	t.Helper()
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	return x
}

// S5.2.1: a hidden tool cannot be called, nor a hidden resource read, through the gateway's own tools.
func TestAttack46MetaTool(t *testing.T) {
	view := seenBy(t, "enforce")
	for _, c := range []struct {
		params string
		want   protocol.FaultName // "" = the item is found
	}{
		{`{"name":"gateway_call_tool","arguments":{"name":"files_delete"}}`, protocol.ToolNotFound},
		{`{"name":"gateway_call_tool","arguments":{"name":"files:delete"}}`, protocol.ToolNotFound},
		{`{"name":"gateway_read_resource","arguments":{"uri":"resource://files/f:///secret"}}`, protocol.ResourceNotFound},
		{`{"name":"gateway_call_tool","arguments":{"name":"files_read"}}`, ""},
		{`{"name":"gateway_read_resource","arguments":{"uri":"resource://files/f:///a"}}`, ""},
	} {
		_, target, fault := FindTarget(view, asking(t, "tools/call", c.params))
		switch {
		case c.want == "" && (fault != nil || target.Server == nil || target.Server.Internal || target.Denied != nil):
			t.Errorf("%s: %v, %v", c.params, target, fault)
		case c.want != "" && (fault == nil || fault.Name != c.want):
			t.Errorf("%s: %v", c.params, fault)
		case c.want != "" && (target.Denied == nil || target.Denied.Server != "files" || target.Denied.Report):
			t.Errorf("%s: denied as %+v", c.params, target.Denied)
		}
	}
}

// A completion reference that names both a permitted prompt and a denied resource, in any spelling, is refused: it has the type
// ref/resource, so a server would complete the resource.
func TestAttack48ReferenceToTwo(t *testing.T) {
	view := seenBy(t, "enforce")
	for _, ref := range []string{
		`{"type":"ref/resource","name":"files_hello","uri":"f:///secret"}`, `{"type":"ref/resource","uri":"f:///secret","name":"files_hello"}`,
		`{"type":"ref/resource","name":"files_hello","u\u0072i":"f:///secret"}`, `{"type":"ref/prompt","name":"files_hello","uri":"f:///secret","type":"ref/resource"}`,
	} {
		if _, target, fault := FindTarget(view, asking(t, "completion/complete", `{"ref":`+ref+`}`)); fault == nil || fault.Name != protocol.InvalidParams {
			t.Errorf("%s: %v, %v", ref, target, fault)
		}
	}
	for _, key := range []string{"URI", "Uri", `UR\u0049`} {
		var f protocol.Frame
		var p protocol.Params
		if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","name":"files_hello","` + key + `":"f:///secret"}}}`)); err != nil {
			t.Fatal(err)
		}
		if err := p.Scan(&f); !errors.Is(err, protocol.ErrDuplicate) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, target, fault := FindTarget(view, asking(t, "completion/complete", `{"ref":{"type":"ref/prompt","name":"files_hello"}}`)); fault != nil || target.Server == nil {
		t.Errorf("a reference to the permitted prompt alone: %v, %v", target, fault)
	}
}

// A denied item is reported as denied, and an unknown one is not. A policy that only reports permits both kinds of calls, and still
// reports the denied item.
func TestDenied(t *testing.T) {
	for _, c := range []struct{ method, params, item string }{
		{"tools/call", `{"name":"files_delete"}`, "delete"}, {"tools/call", `{"name":"files_none"}`, ""}, {"tools/call", `{"name":"files_read"}`, ""},
		{"prompts/get", `{"name":"files/ask"}`, "ask"}, {"resources/read", `{"uri":"f:///secret"}`, "f:///secret"}, {"completion/complete", `{"ref":{"type":"ref/prompt","name":"files_ask"}}`, "ask"},
		{"tools/call", `{"name":"gateway_call_tool","arguments":{"name":"files_delete"}}`, "delete"}, {"tools/call", `{"name":"gateway_call_tool","arguments":{"name":"files_read"}}`, ""},
	} {
		for _, mode := range []string{"enforce", "report"} {
			_, target, fault := FindTarget(seenBy(t, mode), asking(t, c.method, c.params))
			item := ""
			if target.Denied != nil {
				item = target.Denied.Item
			}
			if item != c.item || target.Denied != nil && target.Denied.Report != (mode == "report") {
				t.Errorf("%s, %s %s: denied as %+v, want %q", mode, c.method, c.params, target.Denied, c.item)
			}
			if c.item != "" && (fault == nil) != (mode == "report") {
				t.Errorf("%s, %s %s: %v", mode, c.method, c.params, fault)
			}
		}
	}
}

// If the policy denies call_tool itself, each of its calls is denied, whatever tool it names. In report mode, each such call is
// reported.
func TestDeniedByTheToolThatCalls(t *testing.T) {
	for _, params := range []string{`{"name":"gateway_call_tool","arguments":{"name":"files_read"}}`, `{"name":"gateway_call_tool","arguments":{"name":"files_none"}}`} {
		for _, mode := range []string{"enforce", "report"} {
			_, target, _ := FindTarget(seenBy(t, mode, "gateway_call_*"), asking(t, "tools/call", params))
			if target.Denied == nil || target.Denied.Item != "call_tool" || target.Denied.Report != (mode == "report") {
				t.Errorf("%s, %s: denied as %+v", mode, params, target.Denied)
			}
		}
	}
}

// A call of a server's tool has the tool's rate limit, also through call_tool.
func TestRateOfTarget(t *testing.T) {
	for params, want := range map[string]string{`{"name":"files_read"}`: "5/min", `{"name":"gateway_call_tool","arguments":{"name":"files_read"}}`: "5/min"} {
		if _, target, _ := FindTarget(seenBy(t, "enforce"), asking(t, "tools/call", params)); target.Rate.String() != want {
			t.Errorf("%s: rate %v, want %s", params, target.Rate, want)
		}
	}
}

// A request that names different projects by its path, its header or _meta is refused: one might be checked and the other served.
func TestAttack54ProjectByHeaderAndPath(t *testing.T) {
	e := Entrance{Projects: map[string]bool{"alpha": true, "beta": true}}
	for _, c := range []struct{ path, header, params string }{
		{"/p/alpha/mcp", "beta", `{"name":"a"}`}, {"/mcp", "alpha", `{"name":"a","_meta":{"goblin-actor/project":"beta"}}`},
		{"/p/alpha/mcp", "", `{"name":"a","_meta":{"projectId":"beta"}}`}, {"/s/files/mcp", "beta", `{"name":"a","_meta":{"projectId":"alpha"}}`},
	} {
		x := asking(t, "tools/call", c.params)
		x.Origin.Path, x.Origin.Project = c.path, c.header
		a, refusal := e.Admit(&x.Origin, x)
		if refusal == nil || refusal.Fault.Name != protocol.UnknownProject {
			t.Errorf("%+v: admitted to %+v", c, a.View)
		}
	}
}
