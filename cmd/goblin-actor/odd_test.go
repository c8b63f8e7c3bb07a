package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/gatetest"
)

// oddServer is the main function of the program odd-server. The program has one argument: the mode in which it misbehaves.
func oddServer() {
	if err := gatetest.ServeOdd(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// oddGateway starts a gateway with misbehaving servers, one for each mode.
func oddGateway(t *testing.T, modes ...string) *gatewayProcess {
	t.Helper()
	path, err := exec.LookPath("odd-server")
	if err != nil {
		t.Fatal(err)
	}
	servers := ""
	for _, mode := range modes {
		servers += fmt.Sprintf("  %s: {command: %s, args: [%s], tools: {invalid: show}}\n", mode, path, mode)
	}
	return startGateway(t, servers)
}

// run runs a command against the gateway and returns its output.
func (g *gatewayProcess) run(args ...string) string {
	g.t.Helper()
	path, err := exec.LookPath("goblin-actor")
	if err != nil {
		g.t.Fatal(err)
	}
	cmd := exec.Command(path, append(args, "--connect", g.address)...)
	dir := filepath.Dir(g.config)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "XDG_STATE_HOME="+dir, "NO_COLOR=1", "GORACE=atexit_sleep_ms=20")
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		g.t.Fatal(err)
	}
	if word := gatetest.Internals(string(out)); word != "" {
		g.t.Errorf("%q prints internals (%q):\n%s", args, word, out)
	}
	return string(out)
}

// Whatever results and definitions the servers send, no command prints errors of a JSON decoder.
func TestOddResultsAreExplained(t *testing.T) {
	g := oddGateway(t, "items")
	for _, c := range []struct{ command, item, want string }{
		{"call", "string", "error: the result is a string; an object with content was expected\nhint: add -o json to print the result unchanged\n"},
		{"call", "number", "error: the result is a number; an object with content was expected\n"},
		{"call", "array", "an array"},
		{"call", "null", "null"},
		{"call", "textcontent", "error: content in the result is a string; an array was expected\n"},
		{"call", "numbers", "error: content[0] in the result is a number; an object was expected\n"},
		{"call", "numbertext", "error: content[0].text in the result is a number; a string was expected\n"},
		{"read", "string", "error: the result is a string; an object with contents was expected\n"},
		{"read", "numbers", "error: contents[0] in the result is a number; an object was expected\n"},
		{"read", "badblob", "error: the blob of resource://items/odd:x is not valid base64\n"},
		{"prompt", "string", "error: the result is a string; an object with messages was expected\n"},
		{"prompt", "numbertext", "error: messages[0].role in the result is a number; a string was expected\n"},
		{"prompt", "boolean", "error: arguments[0].name in the definition of items_boolean is a number; a string was expected\n"},
		{"describe", "string", "title in the definition is a number; a string was expected\n"},
		{"describe", "number", "annotations in the definition is an array; an object was expected\n"},
	} {
		name := map[string]string{"read": "resource://items/odd:"}[c.command] + c.item
		if c.command != "read" {
			name = "items_" + name
		}
		if out := g.run(c.command, name); !strings.Contains(out, c.want) {
			t.Errorf("%s %s prints %q, want %q", c.command, name, out, c.want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gatetest.Odd)) {
		for _, command := range []string{"call", "prompt", "describe"} {
			g.run(command, "items_"+name)
			g.run(command, "items_"+name, "-o", "json")
		}
		g.run("call", "items_"+name, "n=1")
		g.run("read", "resource://items/odd:"+name)
		g.run("describe", "resource://items/odd:"+name)
	}
	for _, kind := range []string{"tools", "prompts", "resources", "templates"} {
		g.run("list", kind)
	}
	if out := g.run("call", "x", "--json", `{"a":}`); !strings.Contains(out, "--json is not valid JSON: unexpected '}' at byte 6") {
		t.Errorf("an invalid --json prints %q", out)
	}
}

// status explains why a server fails whose list or initialize result is not an object. list, logs and calls print no
// errors of a JSON decoder about such servers.
func TestOddListsAreExplained(t *testing.T) {
	var modes []string
	for _, name := range []string{"string", "number", "array", "null", "empty"} {
		modes = append(modes, "list-"+name, "init-"+name)
	}
	g := oddGateway(t, modes...)
	for _, command := range [][]string{{"list", "tools"}, {"list", "resources"}, {"logs"}, {"calls"}} {
		g.run(command...)
	}
	status := strings.Join(strings.Fields(g.run("status")), " ")
	for name, got := range map[string]string{"string": "a string", "number": "a number", "array": "an array", "null": "null"} {
		for server, failed := range map[string]string{"list-": "could not be listed", "init-": "initialize failed"} {
			_, reason, _ := strings.Cut(status, server+name+": ") // "retry in …" follows, except during an attempt
			if reason, _, _ = strings.Cut(reason, "expected"); !strings.Contains(reason, failed+": the result is "+got+"; an object was ") {
				t.Errorf("status explains %s%s with %q:\n%s", server, name, reason, status)
			}
		}
	}
}

// keptError matches a line that stores or returns the error of a JSON decoder. Such errors name Go types.
var keptError = regexp.MustCompile(`(err :?= |return )(json\.(Unmarshal|NewDecoder)|(d|in|dec|decoder)\.Decode)\(`)

// Only package decode turns errors of a JSON decoder into text. Other code discards them, compares them with nil, or
// returns them from UnmarshalJSON, which decode calls.
func TestDecoderErrorsReachNoText(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if entry.IsDir() && slices.Contains([]string{".git", "bench", "tests", "internal/decode", "internal/authtest", "internal/gatetest", "internal/actortest"}, dir) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inUnmarshal := false
		for n, line := range strings.Split(string(raw), "\n") {
			if strings.HasPrefix(line, "func ") {
				inUnmarshal = strings.Contains(line, ") UnmarshalJSON(")
			}
			if keptError.MatchString(line) && !strings.Contains(line, ") == nil") && !inUnmarshal {
				t.Errorf("%s:%d keeps the error of a decoder; use package decode: %s", dir, n+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
