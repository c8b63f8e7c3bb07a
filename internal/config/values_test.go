package config

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"goblin-actor/internal/secret"
)

const fullEnv = "HOME=/home/ada\nTEAM=core\n"

func parseFull(t *testing.T) (*Config, Report) {
	t.Helper()
	data, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, report := Parse("full.yaml", data, environ(fullEnv))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return cfg, report
}

// TestFullFile checks that values are stored in their fields, and those of args and env exactly as written.
// TestKeysAreReadShownAndCompared covers the keys that full.yaml leaves out.
func TestFullFile(t *testing.T) {
	got, _ := parseFull(t)
	files := DefaultServer()
	files.Name, files.Written, files.Disabled, files.Description, files.Command = "files", "files", true, "my files", "npx"
	files.Args = []string{"-y", "/home/ada/notes", "1.10", "yes", "0x10", "~", "image:latest", "$x", "--api-key", "hunter2"}
	files.Env = map[string]string{"LOG": "1.10", "DEBUG": "yes", "MASK": "0x10", "EMPTY": "", "TOKEN": "hunter2", "PASSWORD": "hunter2"}
	files.EnvFiles, files.InheritEnv, files.Cwd, files.Replicas = []string{"files.env"}, true, filepath.Join("/home/ada", "work"), 2
	files.Type, files.Protocol, files.Isolation, files.MaxBackends, files.MaxConcurrent = "stdio", "2025-11-25", "leased", 3, 0
	files.Queue, files.Retry = Queue{Size: 1, Timeout: time.Second}, Retry{InFlight: "idempotent"}
	files.StartTimeout, files.Timeout, files.MaxTimeout = 2*time.Minute, 0, 90*time.Minute
	files.Reconnect = Reconnect{Min: time.Second, Max: 2 * time.Minute}
	files.Balance, files.Startup, files.IdleStop, files.Prefix = "least-busy", "lazy", 5*time.Minute, "fs"
	files.Tools = ServerTools{Invalid: "show", Filter: Filter{Allow: []string{"read_*"}, Deny: []string{"*_delete"}, Disabled: []string{"a"},
		Rename: map[string]string{"read_file": "read"}}}
	files.ValidateArguments, files.Prompts, files.ResourceFilter = "refuse", Filter{Allow: []string{"p"}}, Filter{Deny: []string{"file:///secret/*"}}
	files.Roots, files.Labels, files.Group = []string{"file:///srv/work"}, map[string]string{"region": "eu"}, "disks"

	hub := DefaultServer()
	hub.Name, hub.Written, hub.Order = "git-hub", "Git Hub", 1
	hub.URLs = []string{"http://user:hunter2@127.0.0.1:1/mcp?key=hunter2&team=core", "http://127.0.0.1:2/mcp"}
	hub.Type, hub.Isolation, hub.MaxBackends = "http", "session", 64
	hub.Headers = map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Key": "hunter2"} // not sent, because the server has a Fault
	hub.Fault = "headers.Authorization: variable TOKEN is not set"
	hub.ForwardHeaders = []ForwardHeader{{From: "X-User-Token", To: "Authorization", Prefix: "Bearer "}}
	hub.Tools.Invalid, hub.ValidateArguments = "hide", "off"

	remote := DefaultServer()
	remote.Name, remote.Written, remote.Order = "remote", "remote", 2
	remote.URLs, remote.Isolation = []string{"https://example.org/mcp"}, "class"
	remote.Tools.Invalid, remote.ValidateArguments = "hide", "off"

	want := Default()
	want.Listen, want.AllowedOrigins = []string{"127.0.0.1:9000", "[::1]:9000"}, []string{"https://app.example.org"}
	want.AllowedHosts, want.Servers = []string{"gateway.example.org:80"}, []Server{files, hub, remote}
	want.Namespace = Namespace{Mode: "on-conflict", Separator: "-", MaxLength: 32}
	want.Resources = Resources{URIStyle: "underscore", Unlisted: "forward"}
	want.Projects = []Project{{Name: "alpha", Written: "alpha", Servers: []string{"files", "git-hub"}, Tools: Filter{Deny: []string{"gh_*"}},
		ServerInfo: ServerInfo{Name: "alpha-gateway", Title: "Alpha"}, Instructions: "Only alpha."}}
	want.ServerInfo, want.Instructions = ServerInfo{Name: "team-gateway", Title: "The team"}, "Ask the team first."
	want.MetaTools, want.PageSize, want.Drain, want.Log = "only", 50, 0, Log{Level: "debug", Format: "json"}
	want.Limits.MaxMessageBytes, want.Limits.MaxSessions, want.Limits.MaxInFlightPerClient = 1<<20, 1, 2
	want.Limits.SessionIdle, want.Limits.ParkedCall = time.Minute, 2*time.Minute
	want.Limits.ParkedPerServer, want.Limits.ParkedPerClient, want.Limits.StartsAtOnce = 3, 4, 5
	want.Limits.MaxBufferedBytes = 2_000_000
	want.EnvFile, want.Path, want.Secrets = []string{"secrets.env"}, "full.yaml", secret.Values{"user:hunter2"}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("Parse(full.yaml), -want +got:\n%s", diff)
	}
}

func TestEmptyFileIsTheDefault(t *testing.T) {
	for _, data := range []string{"", "# nothing\n", "---\n", "{}", "mcpServers:\nlisten:\nlog: {}\n", "\ufeff"} {
		got, report := Parse("", []byte(data), noEnv)
		want := Default()
		if report.Err() != nil || len(report.Warnings) > 0 || !cmp.Equal(got, &want) {
			t.Errorf("Parse(%q): %s\n%s", data, render(report), cmp.Diff(&want, got))
		}
	}
}

// TestDesktopFileInEveryEncoding checks that a desktop client's file is valid in every encoding.
func TestDesktopFileInEveryEncoding(t *testing.T) {
	const file = "{\r\n\t\"mcpServers\": {\r\n\t\t\"filesystem\": {\r\n\t\t\t\"command\": \"npx\",\r\n" +
		"\t\t\t\"args\": [\"-y\", \"C:\\\\Users\\\\J\\u00fcrgen\\/\\ud83d\\ude00\", \"x\"],\r\n\t\t\t\"env\": {\"A\":\"1\",\"B\":\"\"}\r\n\t\t},\r\n" +
		"\t\t\"remote\":{\"type\":\"streamableHttp\",\"url\":\"http://127.0.0.1:1/mcp?a=b\",\"headers\":{\"X\":\"ü\"}}\r\n\t}\r\n}\r\n"
	wide := func(order binary.AppendByteOrder, bom bool) (b []byte) {
		units := utf16.Encode([]rune(file))
		if bom {
			units = append([]uint16{0xfeff}, units...)
		}
		for _, u := range units {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	for name, data := range map[string][]byte{
		"UTF-8": []byte(file), "UTF-8 with BOM": []byte("\ufeff" + file),
		"UTF-16 LE": wide(binary.LittleEndian, false), "UTF-16 LE with BOM": wide(binary.LittleEndian, true),
		"UTF-16 BE": wide(binary.BigEndian, false), "UTF-16 BE with BOM": wide(binary.BigEndian, true),
	} {
		cfg, report := Parse("claude_desktop_config.json", data, noEnv)
		if cfg == nil || len(report.Warnings) > 0 {
			t.Errorf("%s:\n%s", name, render(report))
			continue
		}
		files, remote := cfg.Servers[0], cfg.Servers[1]
		if want := []string{"-y", `C:\Users\Jürgen/😀`, "x"}; !cmp.Equal(files.Args, want) || files.Env["A"] != "1" {
			t.Errorf("%s: args %q, want %q; env %v", name, files.Args, want, files.Env)
		}
		if remote.Type != "http" || remote.URLs[0] != "http://127.0.0.1:1/mcp?a=b" || remote.Headers["X"] != "ü" {
			t.Errorf("%s: %+v, want an http server with its URL and header", name, remote)
		}
	}
}

func TestUnreadableText(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32"},
		{"\xff\xfea", "odd number"},
		{"a: \xff\n", "x:1:4: not UTF-8"},
		{"a: 1\nb: \x07", "x:2:4: control character U+0007"},
		{strings.Repeat("[", 300), "x:1:257: more than 256 brackets"},
		{strings.Repeat("a: 1\n", 30_000), "x:20001:1: more than 20000 lines"},
		{"[" + strings.Repeat("x,", 250_000), "marks such as"},
		{strings.Repeat(" ", 2000) + "a: 1", "indented by more than 1000"},
		{"a: " + strings.Repeat("{b: ", 100) + strings.Repeat("}", 100), "nested deeper than 64"},
		{"a: [", "x:1:"},
	} {
		cfg, report := Parse("x", []byte(c.data), noEnv)
		if err := report.Err(); cfg != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.20q…) = %v, want %q", c.data, err, c.want)
		}
	}
}

func TestExpand(t *testing.T) {
	env := environ("A=1\nEMPTY=\nREF=${A}$$\n")
	for _, c := range []struct{ in, want, missing, fault string }{
		{"plain", "plain", "", ""},
		{"${A}", "1", "", ""},
		{"x${A}y${A}z", "x1y1z", "", ""},
		{"${EMPTY}", "", "", ""},
		{"${EMPTY:-d}", "d", "", ""},
		{"${NO:-}", "", "", ""},
		{"${NO:-a b:c}", "a b:c", "", ""},
		{"$$", "$", "", ""},
		{"$${A}", "${A}", "", ""},
		{"$$$", "$$", "", ""},
		{"$A $ {A} $", "$A $ {A} $", "", ""},
		{"${REF}", "${A}$$", "", ""}, // the value of a variable is not expanded again
		{"${NO}-${OTHER}-${NO}", "--", "NO OTHER", ""},
		{"${", "", "", "${ without }"},
		{"${}", "", "", `"" is not a variable name`},
		{"${A-b}", "", "", `"A-b" is not a variable name`},
		{"${NO:-${A}}", "", "", "a ${…} inside the default of another"},
		{"${env:A}${env:NO:-d}${env:-e}${file:-f}", "1def", "", ""}, // the last two are variables called env and file
		{"${env:NO}", "", "NO", ""},
		{"${env:A b}", "", "", `"A b" is not a variable name`},
		{"${input:A}", "", "", `"input:A" is not a variable name`},
		{"${file:}", "", "", `"file:" is not a variable name`},
		{"${command:echo ${A}}", "", "", "a ${…} inside another"},
		{"${file:a}${keyring:b}${command:c d}", "${file:a}${keyring:b}${command:c d}", "", ""}, // Parse does not resolve these references
	} {
		e := expand(c.in, sources{env: env})
		if e.fault != c.fault || strings.Join(e.missing, " ") != c.missing || c.fault == "" && e.text != c.want {
			t.Errorf("expand(%q) = %q, missing %q, fault %q; want %+v", c.in, e.text, e.missing, e.fault, c)
		}
	}
}

func TestBytes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "5": 5, "5B": 5, "64KiB": 64 << 10, "64 MiB": 64 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40, "3kB": 3000,
		"3MB": 3e6, "1GB": 1e9, "": -1, "MiB": -1, "-1": -1, "1.5GiB": -1, "9999999TiB": -1, "1mb": -1,
	} {
		got, err := parseBytes(in)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("parseBytes(%q) = %d, want %d", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0", 1000: "1000", 1 << 10: "1KiB", 3 << 20: "3MiB", 1<<30 + 1: "1073741825"} {
		if got := formatBytes(in); got != want {
			t.Errorf("formatBytes(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"timeout", "startTimeout", "maxConcurrent", "url", "env"}
	for word, want := range map[string]string{
		"timout": "timeout", "tiemout": "timeout", "TIMEOUT": "timeout", "max-concurrent": "maxConcurrent", "ulr": "url",
		"evn": "env", "frobnicate": "", "": "", "x": "", "starttimeouts": "startTimeout",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	user := filepath.Join(dir, "xdg", "goblin-actor", "config.yaml")
	home := filepath.Join(dir, "home", ".config", "goblin-actor", "config.yaml")
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	find := func(flag, want string) {
		t.Helper()
		got, ok := Find(flag, func(name string) string { return env[name] })
		if got != want || ok != (want != "") {
			t.Errorf("Find(%q) = %q, %v; want %q", flag, got, ok, want)
		}
	}
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find("", "")
	write(home)
	find("", home)
	env["XDG_CONFIG_HOME"] = "relative" // relative paths are ignored
	find("", home)
	env["XDG_CONFIG_HOME"] = filepath.Join(dir, "xdg")
	find("", "")
	write(user)
	find("", user)
	write("goblin.yaml")
	find("", "goblin.yaml")
	env["GOBLIN_CONFIG"] = "missing.yaml"
	find("", "missing.yaml")
	find("named.yaml", "named.yaml")
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "goblin.yaml")
	if _, report := Load(path); !os.IsNotExist(report.Faults[0].Unwrap()) || report.Err().Error() != path+": no such file" {
		t.Errorf("Load of a missing file: %v", report.Err())
	}
	if _, report := Load(dir); report.Err() == nil || !strings.Contains(report.Err().Error(), "is a directory") {
		t.Errorf("Load of a directory: %v", report.Err())
	}
	t.Setenv("GOBLIN_TEST_COMMAND", "npx")
	if err := os.WriteFile(path, []byte("mcpServers: {a: {command: \"${GOBLIN_TEST_COMMAND}\"}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if cfg, report := Load(path); cfg == nil || cfg.Path != path || cfg.Servers[0].Command != "npx" {
		t.Errorf("Load: %+v, %v", cfg, report.Err())
	}
}

// TestManyFaults checks that errors beyond the limit are counted.
func TestManyFaults(t *testing.T) {
	_, report := Parse("x", []byte("mcpServers: {a: {"+strings.Repeat("k: 1, ", 1000)+"}}"), noEnv)
	if n := len(report.Faults); n != maxFindings+1 || !strings.HasPrefix(report.Faults[n-1].Message, "and 9") {
		t.Errorf("%d faults, the last is %v; want maxFindings and the number of the others", n, report.Faults[n-1])
	}
}

// TestPairsInLists checks that a list element like a:b is text, but a mapping if its key is quoted.
func TestPairsInLists(t *testing.T) {
	for text, want := range map[string]string{`image:latest`: "image:latest", `"image":latest`: "", `"image":"latest"`: ""} {
		cfg, report := Parse("goblin.yaml", []byte("mcpServers: {a: {command: x, args: ["+text+"]}}\n"), nil)
		got := ""
		if cfg != nil && len(cfg.Servers) == 1 && len(cfg.Servers[0].Args) == 1 {
			got = cfg.Servers[0].Args[0]
		}
		if got != want {
			t.Errorf("args: [%s] is %q, want %q; %v", text, got, want, report)
		}
	}
}
