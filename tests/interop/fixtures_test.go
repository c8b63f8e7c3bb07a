package interop

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fixtures starts the HTTP servers and returns all servers of the matrix. goServer is the path of the go-sdk's
// everything-server.
func fixtures(t *testing.T, goServer string) []*fixture {
	t.Helper()
	var all []*fixture
	one := func(name, key, version string, fill func(*fixture) *fixture, config map[string]any) {
		f := fill(&fixture{name: name, key: key, version: version})
		f.servers = map[string]map[string]any{key: config}
		all = append(all, f)
	}
	http := func(url string, more ...string) map[string]any {
		return with(map[string]any{"url": url, "type": "http"}, more...)
	}

	// server-everything stores its tools' results and subscriptions per session, so all clients must share a session, in a cluster that of node a.
	roots := map[string]any{"roots": []string{cave}}
	one("server-everything 2026.8.31, stdio", "evstdio", legacyVersion, serverEverything, merged(npmServer(t, "server-everything"), roots))
	one("server-everything 2026.8.31, HTTP", "evhttp", legacyVersion, serverEverything, merged(http(everythingHTTP(t), "isolation", "shared", "run", "a"), roots))
	one("server-everything 2026.8.31, SSE", "evsse", legacyVersion, serverEverything,
		merged(map[string]any{"url": everythingSSE(t), "type": "sse", "isolation": "shared", "run": "a"}, roots))

	goSDK := func(args ...string) map[string]any { return map[string]any{"command": goServer, "args": args} }
	one("go-sdk 1.8.0, stdio, legacy", "gostdio", legacyVersion, goSDKServer, with(goSDK(), "protocol", "legacy"))
	one("go-sdk 1.8.0, HTTP, sessions", "gohttp", legacyVersion, goSDKServer, http(goSDKHTTP(t, goServer, "-stateless=false")))
	one("go-sdk 1.8.0, stdio, modern", "gostdiom", modernVersion, goSDKServer, with(goSDK(), "protocol", "modern"))
	one("go-sdk 1.8.0, HTTP, stateless", "gohttpm", modernVersion, goSDKServer, http(goSDKHTTP(t, goServer)))

	mcpGo := map[string]any{"command": testBinary(t), "env": map[string]string{beMCPGo: "1"}}
	one("mcp-go 1.2.1, stdio, legacy", "mgstdio", legacyVersion, plainServer, with(mcpGo, "protocol", "legacy"))
	one("mcp-go 1.2.1, HTTP, legacy", "mghttp", legacyVersion, shufflingServer, http(mcpGoHTTP(t, legacyVersion)))
	one("mcp-go 1.2.1, stdio, modern", "mgstdiom", modernVersion, plainServer, with(mcpGo, "protocol", "modern"))
	one("mcp-go 1.2.1, HTTP, modern", "mghttpm", modernVersion, shufflingServer, http(mcpGoHTTP(t)))
	one("mcp-go 1.2.1, SSE", "mgsse", legacyVersion, plainServer, map[string]any{"url": mcpGoSSE(t), "type": "sse"})

	v2 := map[string]any{"command": "node", "args": []string{absolute(t, "servers/typescript-v2.mjs")}}
	v2url := nodeHTTP(t, "servers/typescript-v2.mjs")
	one("TypeScript v2 2.4.0, stdio, legacy", "tsstdio", legacyVersion, typeScriptServer, with(v2, "protocol", "legacy"))
	one("TypeScript v2 2.4.0, HTTP, legacy", "tshttp", legacyVersion, typeScriptServer, http(v2url, "protocol", "legacy"))
	one("TypeScript v2 2.4.0, stdio, modern", "tsstdiom", modernVersion, typeScriptServer, with(v2, "protocol", "modern"))
	one("TypeScript v2 2.4.0, HTTP, modern", "tshttpm", modernVersion, typeScriptServer, http(v2url))

	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", legacyVersion} {
		all = append(all, demos(t, version, overStdio))
	}
	all = append(all, demos(t, modernVersion, overStdio), demos(t, legacyVersion, overHTTP), demos(t, modernVersion, overHTTP))
	return all
}

// with returns a copy of config with the given keys and values.
func with(config map[string]any, pairs ...string) map[string]any {
	more := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		more[pairs[i]] = pairs[i+1]
	}
	return merged(config, more)
}

func merged(maps ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, m := range maps {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// goSDKBinary builds the go-sdk's everything-server, in the version that go.mod pins.
func goSDKBinary(t *testing.T) string {
	t.Helper()
	out := t.TempDir() + "/everything-server"
	if said, err := exec.Command("go", "build", "-o", out, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("build the go-sdk's server: %v\n%s", err, said)
	}
	return out
}

func serverEverything(f *fixture) *fixture {
	f.lists = map[string]string{"tools": "echo", "prompts": "completable-prompt", "resources": "demo://resource/static/document/features.md",
		"templates": "demo://resource/dynamic/text/{resourceId}"}
	f.read = "demo://resource/static/document/features.md"
	f.prompt = ask{"args-prompt", map[string]any{"city": "Ulm"}, "weather in Ulm"}
	f.echo = ask{"echo", map[string]any{"message": "grüße 👋"}, "Echo: grüße 👋"}
	f.progress = ask{"trigger-long-running-operation", map[string]any{"duration": 0.5, "steps": 5}, "completed"}
	f.slow = ask{"trigger-long-running-operation", map[string]any{"duration": 3, "steps": 30}, "completed"}
	f.elicit, f.form = ask{"trigger-elicitation-request", nil, "Name: Goblin"}, map[string]any{"name": "Goblin"}
	f.sample = ask{"trigger-sampling-request", map[string]any{"prompt": "Guess!", "maxTokens": 10}, guess}
	f.roots = ask{"get-roots-list", nil, cave}
	f.watched = "demo://resource/static/document/features.md"
	f.change = ask{"gzip-file-as-resource", map[string]any{"name": "{cell}.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}, ""}
	f.changes, f.made = "resources", "{cell}.gz"
	f.completes, f.argument = reference{prompt: "completable-prompt"}, [3]string{"department", "E", "Engineering"}
	f.prepare = []ask{{"toggle-subscriber-updates", nil, "Started"}, {"toggle-simulated-logging", nil, "Started"}}
	return f
}

// goSDKServer sets the parameters of a go-sdk server. It avoids the server's older tools, which do not request input in 2026-07-28.
func goSDKServer(f *fixture) *fixture {
	f.lists = map[string]string{"tools": "test_simple_text", "prompts": "test_simple_prompt", "resources": "test://static-text",
		"templates": "test://template/{id}/data"}
	f.read = "test://template/7/data"
	f.prompt = ask{"test_prompt_with_arguments", map[string]any{"arg1": "Ulm", "arg2": "Bonn"}, "arg1='Ulm'"}
	f.echo = ask{"test_simple_text", nil, "simple text response"}
	f.progress = ask{"test_tool_with_progress", nil, ""}
	f.slow = f.progress
	f.elicit, f.form = ask{"test_input_required_result_elicitation", nil, "Hello, Goblin!"}, map[string]any{"name": "Goblin"}
	f.sample = ask{"test_input_required_result_sampling", nil, guess}
	f.roots = ask{"test_input_required_result_list_roots", nil, cave}
	f.watched = "test://watched-resource"
	f.change, f.changes = ask{"test_trigger_prompt_change", nil, "published"}, "prompts"
	f.completes, f.argument = reference{prompt: "test_prompt_with_arguments"}, [3]string{"arg1", "p", ""}
	f.log = ask{"test_tool_with_logging", nil, "logging executed"}
	return f
}

// plainServer sets the parameters that the small servers of mcp-go and TypeScript v2 have in common.
func plainServer(f *fixture) *fixture {
	f.lists = map[string]string{"tools": "echo", "prompts": "greet", "resources": "test://static", "templates": "test://page/{number}"}
	f.read = "test://page/7"
	f.prompt = ask{"greet", map[string]any{"style": "bold"}, "Greet me: bold"}
	f.echo = ask{"echo", map[string]any{"message": "grüße 👋"}, "Echo: grüße 👋"}
	f.progress = ask{"progress", nil, "3 steps"}
	f.slow = ask{"slow", nil, ""}
	f.elicit, f.form = ask{"ask_user", nil, "Goblin"}, map[string]any{"name": "Goblin"}
	f.sample = ask{"ask_model", nil, guess}
	f.roots = ask{"ask_roots", nil, cave}
	f.watched, f.touch = watchedURI, ask{"touch", nil, "touched"}
	f.change = ask{"change", map[string]any{"name": "more-{cell}"}, "changed"}
	f.changes, f.made = "tools", "more-{cell}"
	f.completes, f.argument = reference{prompt: "greet"}, [3]string{"style", "br", "brief"}
	f.log = ask{"log", nil, "logged"}
	return f
}

// shufflingServer sets the parameters of a server that distributes its messages at random between the response of a call and the GET stream
// of its session (mcp-go 1.2.1, server/streamable_http.go: both read the session's only channel). A server of both eras does this to legacy
// clients, for whose calls the gateway uses a legacy session. The order 2 1 3 was seen on the wire; of 5000 modern calls none was out of
// order.
func shufflingServer(f *fixture) *fixture {
	f = plainServer(f)
	f.shuffles = true
	return f
}

// typeScriptServer sets the parameters of a TypeScript server. It can report that a resource does not exist; handlers of mcp-go cannot.
func typeScriptServer(f *fixture) *fixture {
	f = plainServer(f)
	f.missing = "test://page/404"
	return f
}

// demos returns a fixture of the demo servers notes, clock and oracle and the server of tests/conformance/fixture, all forced to one version.
func demos(t *testing.T, version string, over way) *fixture {
	t.Helper()
	f := &fixture{name: "demo notes, clock, oracle, conformance, " + string(over) + ", " + version, key: strings.ToLower("d" + version[2:4] + version[5:7] + string(over)), version: version}
	f.servers = map[string]map[string]any{}
	for _, name := range []string{"notes", "clock", "oracle", "conformance"} {
		command := demoCommand(name, version)
		f.servers[f.key+"-"+name] = map[string]any{"command": command[0], "args": command[1:]}
		if over == overHTTP {
			f.servers[f.key+"-"+name] = map[string]any{"url": demoHTTP(t, name, version)}
		}
	}
	f.lists = map[string]string{"tools": "notes/add_note", "prompts": "oracle/prophecy", "resources": "clock|clock://now", "templates": "notes|note:///{slug}"}
	f.read = "notes|note:///welcome"
	f.prompt = ask{"notes/summarize_notes", map[string]any{"style": "brief"}, "brief"}
	f.echo = ask{"notes/search_notes", map[string]any{"query": "lantern"}, "groceries"}
	f.progress = ask{"clock/wait", map[string]any{"seconds": 0.5, "steps": 5}, "waited"}
	f.slow = ask{"clock/wait", map[string]any{"seconds": 3, "steps": 30}, "waited"}
	if version >= "2025-06-18" {
		f.elicit = ask{"oracle/consult", nil, "Goblin"}
	}
	f.form = map[string]any{"name": "Goblin", "topic": "gold"}
	f.sample = ask{"oracle/divine", map[string]any{"question": "When?"}, guess}
	f.roots = ask{"oracle/look_around", nil, cave}
	f.watched = "clock|clock://now"
	f.change = ask{"notes/add_note", map[string]any{"title": "{cell}", "text": "x"}, "added"}
	f.changes, f.made = "resources", "{cell}"
	f.missing = "notes|note:///none"
	f.completes, f.argument = reference{prompt: "notes/summarize_notes"}, [3]string{"style", "br", "brief"}
	f.log = ask{"conformance/test_tool_with_logging", nil, ""}
	return f
}
