package desktop

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/internal/config"
)

// vars returns variables from alternating names and values.
func vars(pairs ...string) []config.Variable {
	var list []config.Variable
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, config.Variable{Name: pair[0], Value: pair[1]})
	}
	return list
}

func TestServers(t *testing.T) {
	for _, c := range []struct {
		id, text string
		want     []Found
	}{
		{"claude-desktop", `{"mcpServers": {"My Files": {"command": "npx", "args": ["-y", 8080, "${X} $$ $5", "$"], "env": {"B": "1", "A": 2, "N": null}}, "off": {"command": "x", "disabled": true}}}`,
			[]Found{{Name: "My Files", Entry: config.Entry{Command: "npx", Args: []string{"-y", "8080", "$${X} $$$ $5", "$"}, Env: vars("B", "1", "A", "2")}},
				{Name: "off", Entry: config.Entry{Command: "x", Disabled: true}}}},
		{"claude-code", `{"numStartups": 3, "mcpServers": {"a": {"type": "stdio", "command": "x", "args": ["${HOME}", "${A:-b}", "${a b}", "$${X}"], "env": {}},
			"h": {"type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${T}"}, "oauth": {"x": 1}},
			"s": {"type": "sse", "url": "https://s.example/sse"}, "w": {"type": "ws", "url": "wss://x"}},
			"projects": {"/here": {"mcpServers": {"local": {"command": "y"}}}, "/there": {"mcpServers": {"no": {"command": "z"}}}}}`,
			[]Found{{Name: "a", Entry: config.Entry{Command: "x", Args: []string{"${HOME}", "${A:-b}", "$${a b}", "$$${X}"}}},
				{Name: "h", Entry: config.Entry{URL: "https://h.example/mcp", Headers: vars("Authorization", "Bearer ${T}")}, Notes: []string{"its login settings are not imported"}},
				{Name: "s", Entry: config.Entry{URL: "https://s.example/sse", Type: "sse"}},
				{Name: "w", Entry: config.Entry{URL: "wss://x"}, Skipped: "its transport is not supported"},
				{Name: "local", Entry: config.Entry{Command: "y"}, Dir: "/here"}}},
		{"cursor", `{"mcpServers": {"line": {"command": "npx -y @scope/server"}, "win": {"command": "cmd", "args": ["/c", "npx", "x"]}, "argstr": {"command": "npx", "args": "-y 'a b'"},
			"init": {"transportType": "sse", "url": "http://u.example", "headers": {"A": "1"}, "requestInit": {"headers": {"a": "2", "B": "3", "C": null}}}, "bad": {"command": "x", "args": {}}}}`,
			[]Found{{Name: "line", Entry: config.Entry{Command: "npx", Args: []string{"-y", "@scope/server"}}, Notes: []string{"a whole command line in one string; only the first word is the program: imported as npx with its arguments"}},
				{Name: "win", Entry: config.Entry{Command: "npx", Args: []string{"x"}}, Notes: []string{"cmd /c runs programs on Windows only; this is Linux: imported as npx with its arguments"}},
				{Name: "argstr", Entry: config.Entry{Command: "npx", Args: []string{"-y", "a b"}}},
				{Name: "init", Entry: config.Entry{URL: "http://u.example", Type: "sse", Headers: vars("A", "1", "B", "3")}},
				{Name: "bad", Skipped: "Args in the entry is an object; an array was expected"}}},
		{"cursor", `{"mcpServers": {"a": {"command": "${userHome}/bin/x", "args": ["${env:A}${/}b"], "envFile": ".env"}, "w": {"command": "x", "args": ["${workspaceFolder}"]}, "u": {"url": "http://u.example"}}}`,
			[]Found{{Name: "a", Entry: config.Entry{Command: "${HOME}/bin/x", Args: []string{"${A}/b"}}, Notes: []string{"its envFile is ignored because its path is relative; write the full path"}},
				{Name: "w", Entry: config.Entry{Command: "x", Args: []string{"$${workspaceFolder}"}}, Skipped: "it uses ${workspaceFolder}, which only the client supports"},
				{Name: "u", Entry: config.Entry{URL: "http://u.example"}}}},
		{"vscode", `// mine
			{"inputs": [{"id": "api-key", "type": "promptString"}], "servers": {"a": {"type": "stdio", "command": "x", "cwd": "/srv", "env": {"K": "${input:api-key}"}, }, },}`,
			[]Found{{Name: "a", Entry: config.Entry{Command: "x", Cwd: "/srv", Env: vars("K", "${API_KEY}")}, Notes: []string{"set the variable API_KEY; the client itself would prompt for it"}}}},
		{"windsurf", `{"mcpServers": {"a": {"serverUrl": "https://x.example/mcp", "headers": {"K": "${env:K}"}, "disabledTools": ["t"]}}}`,
			[]Found{{Name: "a", Entry: config.Entry{URL: "https://x.example/mcp", Headers: vars("K", "${K}"), ToolsDisabled: []string{"t"}}}}},
		{"zed", `{"context_servers": {"new": {"source": "custom", "enabled": false, "command": "x", "args": ["${A}"]}, "old": {"command": {"path": "y", "args": ["b"], "env": {"C": "d"}}},
			"ext": {"settings": {"key": "k"}}, "none": {}, "bad": 1, "both": {"command": "x", "url": "http://x"}}}`,
			[]Found{{Name: "new", Entry: config.Entry{Command: "x", Args: []string{"$${A}"}, Disabled: true}},
				{Name: "old", Entry: config.Entry{Command: "y", Args: []string{"b"}, Env: vars("C", "d")}},
				{Name: "ext", Skipped: "it is run by an extension of Zed"},
				{Name: "none", Skipped: "it has no command and no address"},
				{Name: "bad", Skipped: "the entry is a number; an object was expected"},
				{Name: "both", Entry: config.Entry{Command: "x"}, Notes: []string{"its address is ignored because it also has a command"}}}},
		{"cursor", `{"mcpServers": {"k": {"command": "x", "timeout": 60, "autoApprove": ["a"], "gallery": true, "envFile": "${userHome}/.env", "includeTools": ["a"]}, "l": {"url": "http://l.example", "timeout": 600000}}}`,
			[]Found{{Name: "k", Entry: config.Entry{Command: "x", Timeout: "60s", EnvFile: "${HOME}/.env", ToolsAllow: []string{"a"}}, Notes: []string{"its timeout 60 is read as 60s"}, Ignored: []string{"autoApprove", "gallery"}},
				{Name: "l", Entry: config.Entry{URL: "http://l.example", Timeout: "600000ms"}, Notes: []string{"its timeout 600000 is read as 600000ms"}}}},
		{"cursor", `{"mcpServers": {"u": {"url": "http://u.example", "envFile": "/srv/.env"}, "w": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}`,
			[]Found{{Name: "u", Entry: config.Entry{URL: "http://u.example"}, Notes: []string{"its envFile is ignored because the server has an address and no command; set the variables of its headers where the gateway starts, or in the configuration's envFile"}},
				{Name: "w", Entry: config.Entry{Command: "x"}, Notes: []string{"its envFile is ignored because it uses ${workspaceFolder}, which only the client supports; write the full path"}}}},
		{"zed", "", nil},
		{"zed", `{"context_servers": null}`, nil},
		{"zed", `{"theme": "x"}`, nil},
		{"cursor", `{"mcpServers": {"g": {"command": "C:\\bin\\goblin-actor.exe", "args": ["stdio"]}, "d": {"command": "goblin-actor", "args": ["demo", "notes"]}}}`,
			[]Found{{Name: "g", Entry: config.Entry{Command: `C:\bin\goblin-actor.exe`, Args: []string{"stdio"}}, Skipped: "it is this gateway", Ours: true},
				{Name: "d", Entry: config.Entry{Command: "goblin-actor", Args: []string{"demo", "notes"}}}}},
	} {
		client, _ := ByID(c.id)
		got, err := client.Servers(c.text, "/here", host("linux", "/home/u"))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %s: %v (-want +got)\n%s", c.id, c.text, err, diff)
		}
	}
	client, _ := ByID("vscode")
	for _, text := range []string{"{", `{"servers": []}`, `{"servers": {}, "servers": {}}`} {
		_, err := client.Servers(text, "", host("linux", ""))
		if _, syntax := errors.AsType[*SyntaxError](err); !syntax && !errors.Is(err, ErrByHand) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRefer checks that literal values of env and headers are replaced by variables, that empty values and references
// stay, and that different values never share a variable.
func TestRefer(t *testing.T) {
	taken := map[string]string{}
	a := config.Entry{Name: "a", Env: vars("KEY", "hunter2", "lower", "x", "REF", "${R}", "EMPTY", "")}
	b := config.Entry{Name: "b-1", Env: vars("KEY", "other")}
	c := config.Entry{Name: "c", Env: vars("KEY", "hunter2"), Headers: vars("Authorization", "Bearer hunter2", "X-Key", "hunter2")}
	var got [][]string
	d := config.Entry{Name: "d", Env: vars("D_X", "1"), Headers: vars("X", "2")}
	f := config.Entry{Name: "d", Headers: vars("X", "3")}
	for _, e := range []*config.Entry{&a, &b, &c, &d, &f} {
		got = append(got, Refer(e, taken))
	}
	want := [][]string{{"KEY", "lower"}, {"B_1_KEY"}, {"KEY", "C_AUTHORIZATION", "C_X_KEY"}, {"D_X", "D_X_2"}, {"D_X_3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(vars("KEY", "${KEY}", "lower", "${lower}", "REF", "${R}", "EMPTY", ""), a.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(vars("Authorization", "Bearer ${C_AUTHORIZATION}", "X-Key", "${C_X_KEY}"), c.Headers); diff != "" {
		t.Error(diff)
	}
}

// TestConceal checks that likely secrets are replaced by variables, and that a name in use with a different value is avoided.
func TestConceal(t *testing.T) {
	const s, other = "hunter2hunter2a", "ghp_0123456789abcdef0123"
	e := config.Entry{Name: "git-hub", Env: vars("API_KEY", s, "MODE", "fast", "REF", "${R}", "DB", "postgres://u:"+s+"@h/db", "TOKEN", "a$$b"),
		Args: []string{"-y", "--api-key", s, "--port=1", "--token=" + other, "--header", "Authorization: Bearer " + s, "plain"},
		URL:  "https://h/mcp?key=" + s, Headers: vars("Authorization", "Bearer "+s, "X-Team", "blue")}
	taken := map[string]string{"API_KEY": "another"}
	moved := Conceal(&e, func(name string) (string, bool) { value, ok := taken[name]; return value, ok })
	want := config.Entry{Name: "git-hub", Env: vars("API_KEY", "${GIT_HUB_API_KEY}", "MODE", "fast", "REF", "${R}", "DB", "postgres://${DB}@h/db", "TOKEN", "${TOKEN}"),
		Args: []string{"-y", "--api-key", "${GIT_HUB_API_KEY}", "--port=1", "--token=${GIT_HUB_TOKEN}", "--header", "Authorization: Bearer ${GIT_HUB_AUTHORIZATION}", "plain"},
		URL:  "https://h/mcp?key=${GIT_HUB_KEY}", Headers: vars("Authorization", "Bearer ${GIT_HUB_AUTHORIZATION}", "X-Team", "blue")}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(vars("GIT_HUB_API_KEY", s, "DB", "u:"+s, "TOKEN", "a$b", "GIT_HUB_AUTHORIZATION", s, "GIT_HUB_TOKEN", other, "GIT_HUB_KEY", s), moved); diff != "" {
		t.Error(diff)
	}
}

// TestRemove checks that one entry is removed and nothing else changes.
func TestRemove(t *testing.T) {
	client, _ := ByID("claude-code")
	text := `{"mcpServers": {"a": {"command": "x"}, // first
  "b": {"command": "y"} /* last */}, "projects": {"/p": {"mcpServers": {"a": {"command": "z"}}, "x": 1}}}`
	for _, c := range []struct{ name, dir, want string }{
		{"a", "", `{"mcpServers": {// first
  "b": {"command": "y"} /* last */}, "projects": {"/p": {"mcpServers": {"a": {"command": "z"}}, "x": 1}}}`},
		{"a", "/p", `{"mcpServers": {"a": {"command": "x"}, // first
  "b": {"command": "y"} /* last */}, "projects": {"/p": {"mcpServers": {}, "x": 1}}}`},
		{"none", "", text},
	} {
		if got, err := client.Remove(text, c.name, c.dir); err != nil || got != c.want {
			t.Errorf("%s %s: %v\n%s", c.name, c.dir, err, got)
		}
	}
}
