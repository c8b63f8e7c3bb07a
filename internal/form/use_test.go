package form

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goblin-actor/internal/visible"
)

func TestCommandLine(t *testing.T) {
	s, err := ParseSchema([]byte(forgeSchema))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ verb, name, args, want string }{
		{"call", "files_read_file", `{"title":"/n/todo.md","count":20}`, `goblin-actor call files_read_file count=20 title=/n/todo.md`},
		{"call", "t", `{"title":"buy a lantern"}`, `goblin-actor call t 'title=buy a lantern'`},
		{"call", "t", `{"title":"it's"}`, `goblin-actor call t 'title=it'\''s'`},
		{"call", "t", `{"title":"a","id":"7"}`, `goblin-actor call t --json '{"title":"a","id":"7"}'`}, // id=7 would be a number
		{"call", "t", `{"title":"a\nb"}`, `goblin-actor call t --json '{"title":"a\nb"}'`},
		{"call", "t", `{"title":"a` + "\u202e" + `"}`, `goblin-actor call t --json '{"title":"a\u202e"}'`},
		{"call", "t", `{"title":"a","new=er":1}`, `goblin-actor call t --json '{"title":"a","new=er":1}'`},
		{"call", "t", `{}`, `goblin-actor call t --json '{}'`}, // title is missing
		{"call", "-t", `{"title":"a"}`, `goblin-actor call -- -t title=a`},
		{"call", "-t", `{"title":1}`, `goblin-actor call --json '{"title":1}' -- -t`},
		{"read", "file:///a b", ``, `goblin-actor read 'file:///a b'`},
		{"read", "file:///\x1b", ``, ``},
		{"prompt", "p", `{"title":"b"}`, `goblin-actor prompt p title=b`},
		{"prompt", "p", `{"title":"a\tb"}`, ``},
	} {
		u := Use{Verb: Verb(c.verb), Name: c.name, Arguments: json.RawMessage(c.args), Schema: s}
		if got := u.CommandLine(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

// Arguments that are not known are written as …
func TestUnknownArguments(t *testing.T) {
	s, err := ParseSchema([]byte(forgeSchema))
	if err != nil {
		t.Fatal(err)
	}
	u := Use{Verb: Call, Name: "t", Unknown: []string{"title", "count"}, Schema: s}
	if got, want := u.CommandLine(), "goblin-actor call t title=… count=…"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := u.JSONRPC(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"count":"…","title":"…"}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	u.Unknown = []string{"a=b"}
	if got, want := u.CommandLine(), `goblin-actor call t --json '{"a=b":"…"}'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestArchive(t *testing.T) {
	u := Use{Verb: Prompt, Name: "p"}
	got := u.Archive([]byte("{ \"a\": \"\u202e\" }"))
	const want = "-- command --\ngoblin-actor prompt p\n-- request.json --\n" + `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}` +
		"\n-- answer.json --\n" + `{"a":"\u202e"}` + "\n"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRequests(t *testing.T) {
	u := Use{Verb: Call, Name: "t", Arguments: json.RawMessage(`{"a":"<\u200b'>"}`)}
	if got, want := u.JSONRPC(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"<\u200b'>"}}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r := Use{Verb: Read, Name: "x://é"}
	if got, want := r.JSONRPC(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://é"}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := r.Curl("http://127.0.0.1:8730/mcp"), `curl -s http://127.0.0.1:8730/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: resources/read' -H 'Mcp-Name: =?base64?eDovL8Op?=' --data-raw '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"uri":"x://é"}}'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A shell that runs the command line passes the same arguments to the command, and the text has no hidden characters.
func TestShellPassesTheSameArguments(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	s, err := ParseSchema([]byte(forgeSchema))
	if err != nil {
		t.Fatal(err)
	}
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ '"$\\x60=*?~#&|;<>(){}!a-c\n\t-]{0,8}`), rapid.SampledFrom([]string{"", "7", "true", "null", "[1]", `{"a":1}`, `"x"`}))
	value := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.SampledFrom([]any{true, nil, 1.5, "low", 3, []any{"a", "'"}, map[string]any{"b": []any{nil}}}))
	key := rapid.OneOf(text, rapid.SampledFrom([]string{"title", "count", "ratio", "draft", "tags", "extra", "level", "maybe", "id", "free"}))
	rapid.Check(t, func(rt *rapid.T) {
		args, err := json.Marshal(rapid.MapOfN(key, value, 0, 4).Draw(rt, "arguments"))
		if err != nil {
			rt.Fatal(err)
		}
		u := Use{Verb: Call, Name: rapid.SampledFrom([]string{"tool", "-t", "it's"}).Draw(rt, "tool"), Arguments: args}
		if rapid.Bool().Draw(rt, "with schema") {
			u.Schema = s
		}
		line := u.CommandLine()
		if visible.Contains(line) || strings.Contains(line, "\n") {
			rt.Fatalf("hidden characters in %q", line)
		}
		rest, ok := strings.CutPrefix(line, "goblin-actor call ")
		if !ok {
			rt.Fatal(line)
		}
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+rest).Output()
		if err != nil {
			rt.Fatalf("%s: %v", line, err)
		}
		name, got, err := parsedCall(u.Schema, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
		if err != nil || name != u.Name || string(normal(got)) != string(normal(args)) {
			rt.Fatalf("%s\npasses %s %s (%v), want %s", line, name, got, err, args)
		}
		curl := u.Curl("http://127.0.0.1:8730/mcp")
		if out, err = exec.Command("sh", "-c", `printf '%s\0' `+curl).Output(); err != nil || visible.Contains(curl) {
			rt.Fatalf("%s: %v", curl, err)
		}
		words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		var body struct {
			Params struct{ Arguments json.RawMessage }
		}
		if err := json.Unmarshal([]byte(words[len(words)-1]), &body); err != nil || string(normal(body.Params.Arguments)) != string(normal(args)) {
			rt.Fatalf("%s\nsends %s (%v), want %s", curl, body.Params.Arguments, err, args)
		}
	})
}

// parsedCall parses words as the call command does.
func parsedCall(s Schema, words []string) (name string, args []byte, err error) {
	var positional []string
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "--":
			positional = append(positional, words[i+1:]...)
			i = len(words)
		case "--json":
			i++
			args = []byte(words[i])
		default:
			positional = append(positional, words[i])
		}
	}
	if args != nil {
		return positional[0], args, nil
	}
	var pairs []Pair
	for _, word := range positional[1:] {
		key, value, _ := strings.Cut(word, "=")
		pairs = append(pairs, Pair{key, value})
	}
	args, err = s.Arguments(name, pairs)
	return positional[0], args, err
}
