package catalog

import (
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// S2.2.2, S3.1.1, S3.1.2, S4.1.1, S4.1.2: names in one list are unique, and depend on the mode and each server's prefix.
func TestToolNames(t *testing.T) {
	prefixed := func(p string) func(*config.Server) { return func(s *config.Server) { s.Prefix = p } }
	long := strings.Repeat("x", 80)
	narrow := standard(stylePrefix)
	narrow.Namespace.MaxLength = 16
	dotted := standard(stylePrefix)
	dotted.Namespace.Separator = "__"
	for _, tt := range []struct {
		name    string
		naming  Naming
		servers []*offered
		want    []string
	}{
		{"always", mode("always"), []*offered{server(t, "files", 0).tools("read", "write"), server(t, "db", 1).tools("read")},
			[]string{"db_read", "files_read", "files_write"}},
		{"prefix of the server", mode("always"), []*offered{server(t, "github", 0).rules(prefixed("gh")).tools("issue")}, []string{"gh_issue"}},
		{"no prefix", mode("always"), []*offered{server(t, "git", 0).rules(prefixed(config.NoPrefix)).tools("git_log"), server(t, "db", 1).tools("read")},
			[]string{"db_read", "git_log"}},
		{"no prefix, and a conflict", mode("on-conflict"), []*offered{server(t, "a", 0).rules(prefixed(config.NoPrefix)).tools("read"), server(t, "b", 1).tools("read")},
			[]string{"b_read", "read"}},
		{"separator", dotted, []*offered{server(t, "files", 0).tools("read")}, []string{"files__read"}},
		{"on-conflict", mode("on-conflict"), []*offered{server(t, "files", 0).tools("read", "write"), server(t, "db", 1).tools("read")},
			[]string{"db_read", "files_read", "write"}},
		{"on-conflict after sanitizing", mode("on-conflict"), []*offered{server(t, "files", 0).tools("a.b"), server(t, "db", 1).tools("a_b")},
			[]string{"db_a_b", "files_a_b"}},
		{"on-conflict ignores conflicts within one server", mode("on-conflict"), []*offered{server(t, "files", 0).tools("a_b", "a.b")},
			[]string{"a_b", namespace.WithSuffix("a_b", "files\x00a.b", 64)}},
		{"never", mode("never"), []*offered{server(t, "files", 0).tools("read"), server(t, "db", 1).tools("read")},
			[]string{"read", namespace.WithSuffix("read", "db\x00read", 64)}},
		{"other characters", mode("always"), []*offered{server(t, "files", 0).tools("a b/c", "grün")}, []string{"files_a_b_c", "files_gr_n"}},
		{"a name without replaced characters gets no suffix, whatever the order of the list", mode("always"), []*offered{server(t, "files", 0).tools("a.b", "a_b", "a-b")},
			[]string{"files_a-b", "files_a_b", namespace.WithSuffix("files_a_b", "files\x00a.b", 64)}},
		{"a_b+c and a+b_c: the name of the earlier server gets no suffix", mode("always"),
			[]*offered{server(t, "a", 0).tools("b_c"), server(t, "x", 1).rules(prefixed("a_b")).tools("c")},
			[]string{"a_b_c", namespace.WithSuffix("a_b_c", "x\x00c", 64)}},
		{"too long", narrow, []*offered{server(t, "files", 0).tools(long)}, []string{namespace.PublicName("files", "_", long, 16)}},
		{"too long and equal when cut", narrow, []*offered{server(t, "files", 0).tools(long, long+"y")},
			[]string{namespace.PublicName("files", "_", long, 16), namespace.PublicName("files", "_", long+"y", 16)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := whole(tt.naming, tt.servers...)
			got := listed(t, v, protocol.Tools)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, e := range v.Entries(protocol.Tools) {
				if found, fault := v.Tool(e.Public); found != e {
					t.Errorf("Tool(%q) = %v, %v; want this item", e.Public, found, fault)
				}
				if len(e.Public) > tt.naming.Namespace.MaxLength {
					t.Errorf("%q is longer than %d bytes", e.Public, tt.naming.Namespace.MaxLength)
				}
			}
		})
	}
}

// S4.1.2: names depend on the order of the configuration, and not on the order of the sources or of a list.
func TestOrderDoesNotMatter(t *testing.T) {
	a := server(t, "a", 0).tools("x.y", "x_y", "x y")
	b := server(t, "b", 1).rules(func(s *config.Server) { s.Prefix = "a" }).tools("x_y")
	c := server(t, "c", 2).tools("p.q", "p q") // either could be called c_p_q
	want := map[string]string{}
	for _, e := range whole(standard(stylePrefix), a, b, c).Entries(protocol.Tools) {
		want[e.Server.Name+" "+e.Original] = e.Public
	}
	a2 := server(t, "a", 0).tools("x y", "x_y", "x.y")
	c2 := server(t, "c", 2).tools("p q", "p.q")
	for _, e := range whole(standard(stylePrefix), c2, b, a2).Entries(protocol.Tools) {
		if got := e.Public; got != want[e.Server.Name+" "+e.Original] {
			t.Errorf("%s %s is %q, was %q", e.Server.Name, e.Original, got, want[e.Server.Name+" "+e.Original])
		}
	}
}

// S2.2.2, S2.5.1, S2.5.2, S3.2.2: every spelling of a tool's name leads to it, and to no other.
func TestToolAliases(t *testing.T) {
	v := whole(standard(stylePrefix),
		server(t, "files", 0).tools("read", "write", "at@2", "db:read").rules(func(s *config.Server) {
			s.Tools.Filter = config.Filter{Disabled: []string{"write"}, Rename: map[string]string{"old": "fresh"}}
		}).tools("old"),
		server(t, "db", 1).tools("read", "query", "write"),
	)
	for name, want := range map[string]string{
		"files_read":    "files read",
		"files:read":    "files read",
		"files/read":    "files read",
		"files__read":   "files read",
		"files.read":    "files read",
		"files:read@1":  "files read",
		"files:at@2":    "files at@2",
		"files:at@2@0":  "files at@2",
		"files:db:read": "files db:read",
		"db:read":       "db read", // a qualified name wins over an equal bare name
		"query":         "db query",
		"files_fresh":   "files old",
		"files:fresh":   "files old",
		"files:old":     "files old",
		"fresh":         "files old",
		"old":           "files old",

		"read":           "TOOL_NOT_FOUND", // ambiguous: two servers have it
		"files_write":    "TOOL_NOT_FOUND", // disabled
		"files:write":    "TOOL_NOT_FOUND",
		"files/write":    "TOOL_NOT_FOUND",
		"files__write":   "TOOL_NOT_FOUND",
		"files.write":    "TOOL_NOT_FOUND",
		"files:write@0":  "TOOL_NOT_FOUND",
		"write":          "TOOL_NOT_FOUND", // must not lead to the other server
		"files_old":      "TOOL_NOT_FOUND",
		"files-read":     "TOOL_NOT_FOUND",
		"absent:read":    "TOOL_NOT_FOUND",
		"files:read@":    "TOOL_NOT_FOUND",
		"files:read@x":   "TOOL_NOT_FOUND",
		"files/read@1":   "TOOL_NOT_FOUND",
		"":               "TOOL_NOT_FOUND",
		":":              "TOOL_NOT_FOUND",
		"FILES_READ":     "TOOL_NOT_FOUND",
		"files:read@-1":  "TOOL_NOT_FOUND",
		"files:read@1e9": "TOOL_NOT_FOUND",
	} {
		if got := tool(v, name); got != want {
			t.Errorf("Tool(%q) = %s, want %s", name, got, want)
		}
	}
	if _, fault := v.Tool("read"); !slices.Equal(fault.Candidates, []string{"files_read", "db_read"}) {
		t.Errorf("candidates of read: %q, want files_read and db_read", fault.Candidates)
	}
	if _, fault := v.Tool("write"); !slices.Equal(fault.Candidates, []string{"db_write"}) {
		t.Errorf("candidates of write: %q, want only db_write, because the other one is disabled", fault.Candidates)
	}
	if _, fault := v.Tool("nope"); fault.Error() != "Tool not found: nope" || fault.Code(protocol.EraLegacy) != -32602 {
		t.Errorf("got %q, %d; want Tool not found: nope, -32602", fault.Error(), fault.Code(protocol.EraLegacy))
	}
	if _, fault := v.Tool(strings.Repeat("ü", 1<<20)); len(fault.Error()) > 2*maxShown {
		t.Errorf("a huge name yields a message of %d bytes", len(fault.Error()))
	}
	for name, want := range map[string]int{"files:read@1": 1, "files:read@65535": 65535, "files:read": -1, "files_read": -1, "files:at@2": -1, "files:at@2@0": 0, "x@1": -1} {
		if got := v.Replica(name); got != want {
			t.Errorf("Replica(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestPrompts(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "a", 0).prompts("ask", "tell").tools("ask"), server(t, "b", 1).prompts("tell"))
	if got := listed(t, v, protocol.Prompts); !slices.Equal(got, []string{"a_ask", "a_tell", "b_tell"}) {
		t.Errorf("got %q, want a_ask, a_tell and b_tell", got)
	}
	for _, name := range []string{"a_ask", "a:ask", "ask"} {
		if e, fault := v.Prompt(name); fault != nil || e.Original != "ask" || e.Kind != protocol.Prompts {
			t.Errorf("Prompt(%q) = %v, %v; want the prompt", name, e, fault)
		}
	}
	if _, fault := v.Prompt("tell"); fault == nil || fault.Name != protocol.PromptNotFound || len(fault.Candidates) != 2 {
		t.Errorf("Prompt(tell): %v, want PROMPT_NOT_FOUND with 2 candidates", fault)
	}
}

// S3.5.3: filters and renames apply to the server's own names, and do not change the names of other items.
func TestFilters(t *testing.T) {
	plain := []*offered{server(t, "a", 0).tools("x.y", "x_y", "del_1", "del_2", "keep"), server(t, "b", 1).rules(func(s *config.Server) { s.Prefix = "a" }).tools("keep")}
	public := map[string]string{}
	for _, e := range whole(standard(stylePrefix), plain...).Entries(protocol.Tools) {
		public[e.Server.Name+" "+e.Original] = e.Public
	}
	for _, tt := range []struct {
		name   string
		filter config.Filter
		want   []string // own names of a that remain
	}{
		{"none", config.Filter{}, []string{"del_1", "del_2", "keep", "x.y", "x_y"}},
		{"allow", config.Filter{Allow: []string{"x?y", "keep"}}, []string{"keep", "x.y", "x_y"}},
		{"deny", config.Filter{Deny: []string{"del_*"}}, []string{"keep", "x.y", "x_y"}},
		{"deny beats allow", config.Filter{Allow: []string{"*"}, Deny: []string{"*_?"}}, []string{"keep", "x.y"}},
		{"disabled", config.Filter{Disabled: []string{"keep"}}, []string{"del_1", "del_2", "x.y", "x_y"}},
		{"nothing", config.Filter{Allow: []string{"absent"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := server(t, "a", 0).tools("x.y", "x_y", "del_1", "del_2", "keep").rules(func(s *config.Server) { s.Tools.Filter = tt.filter })
			v := whole(standard(stylePrefix), a, plain[1])
			var got []string
			for _, e := range v.Entries(protocol.Tools) {
				if e.Public != public[e.Server.Name+" "+e.Original] {
					t.Errorf("%s %s moved to %q", e.Server.Name, e.Original, e.Public)
				}
				if e.Server.Name == "a" {
					got = append(got, e.Original)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if counts := v.Snapshot().Counts("a"); counts[protocol.Tools] != len(tt.want) {
				t.Errorf("Counts = %v, want %d tools", counts, len(tt.want))
			}
		})
	}
}
