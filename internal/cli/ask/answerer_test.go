package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/form"
)

const (
	nameForm = `{"message":"who?","requestedSchema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"Your name"},"age":{"type":"integer","minimum":1,"default":30}}}}`
	freeForm = `{"message":"ok?","requestedSchema":{"type":"object","properties":{"age":{"type":"integer","default":30}}}}`
	noForm   = `{"message":"ok?","requestedSchema":{"type":"object","properties":{}}}`
	page     = `{"mode":"url","message":"go","url":"https://example.com/a?b=c"}`
	model    = `{"messages":[{"role":"user","content":{"type":"text","text":"why?\u001b[2J"}}],"systemPrompt":"be brief","maxTokens":9}`
)

// answering returns an answerer with these flags and the buffer for its stderr. in is the user's input; nil = no
// terminal.
func answering(t *testing.T, in io.Reader, flags ...string) (*answerer, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	a := &answerer{}
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	cmd.SetIn(strings.NewReader(""))
	a.add(cmd)
	if err := cmd.ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	if err := a.begin(cmd, "tool", terminal.NewProgressBar(&out)); err != nil {
		t.Fatal(err)
	}
	a.options(t.Context())
	if in != nil {
		a.person = newQuestioner(in, &out)
	}
	return a, &out
}

// Without a terminal, requests are answered from flags, and otherwise declined with a message. A roots request without a flag gets an
// empty list.
func TestAnswersOfFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "answers.json")
	if err := os.WriteFile(file, []byte(`{"name":"Ugg","age":7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, method, params string
		flags                []string
		want, word           string
	}{
		{"nothing", "elicitation/create", nameForm, nil, `{"action":"decline"}`, "tool asks \"who?\": declined without asking (no terminal, or --decline)\nhint: use --answer name=…\n"},
		{"text", "elicitation/create", nameForm, []string{"--answer", "name=Ugg"}, `{"action":"accept","content":{"name":"Ugg","age":30}}`, ""},
		{"file", "elicitation/create", nameForm, []string{"--answer", "@" + file}, `{"action":"accept","content":{"name":"Ugg","age":7}}`, ""},
		{"bad value", "elicitation/create", nameForm, []string{"--answer", "name=Ugg", "--answer", "age=0"}, `{"action":"decline"}`, "--answer age: want a whole number, 1 or more"},
		{"flag for another form", "elicitation/create", freeForm, []string{"--answer", "name=Ugg"}, `{"action":"decline"}`, "hint: use --yes to accept"},
		{"declined form", "elicitation/create", freeForm, []string{"--decline"}, `{"action":"decline"}`, "hint: use --yes instead of --decline to accept\n"},
		{"defaults", "elicitation/create", freeForm, []string{"--yes"}, `{"action":"accept","content":{"age":30}}`, ""},
		{"field without a default", "elicitation/create", nameForm, []string{"--yes"}, `{"action":"decline"}`, "--answer name=…"},
		{"empty form", "elicitation/create", noForm, []string{"--yes"}, `{"action":"accept","content":{}}`, ""},
		{"no schema", "elicitation/create", `{"message":"x"}`, []string{"--yes"}, `-32602`, ""},
		{"invalid params", "elicitation/create", `[]`, nil, `-32602`, ""},
		{"page", "elicitation/create", page, nil, `{"action":"decline"}`, "declined to visit https://example.com/a?b=c"},
		{"page agreed", "elicitation/create", page, []string{"--yes"}, `{"action":"accept"}`, "agreed to visit https://example.com/a?b=c"},
		{"page declined", "elicitation/create", page, []string{"--yes", "--decline"}, `{"action":"decline"}`, "hint: use --yes instead of --decline to agree"},
		{"invalid page", "elicitation/create", `{"mode":"url","url":"javascript:alert(1)"}`, []string{"--yes"}, `-32602`, ""},
		{"model", "sampling/createMessage", model, []string{"--say", "because"}, `{"role":"assistant","content":{"type":"text","text":"because"},"model":"a person at the terminal","stopReason":"endTurn"}`, ""},
		{"no model", "sampling/createMessage", model, []string{"--yes"}, `-1`, `why?\\x1b[2J`},
		{"model with tools", "sampling/createMessage", `{"tools":[{}]}`, []string{"--say", "x"}, `-32602`, ""},
		{"roots", "roots/list", ``, []string{"--root", "file:///a", "--root", "file:///b"}, `{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`, "roots sent to tool: file:///a file:///b"},
		{"no roots", "roots/list", ``, nil, `{"roots":[]}`, "none (use --root DIR to send one)"},
		{"current directory", "roots/list", ``, []string{"--yes"}, `/internal/cli/ask"}]}`, "internal/cli/ask"},
		{"unknown", "no/such", `{}`, []string{"--yes"}, `-32601`, ""},
	} {
		a, out := answering(t, nil, c.flags...)
		got, err := a.answer(t.Context(), c.method, json.RawMessage(c.params))
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if err == nil && !strings.HasSuffix(text, c.want) || err != nil && !strings.Contains(text, c.want) || !strings.Contains(out.String(), c.word) {
			t.Errorf("%s: %s (%q), want %s (%q)", c.name, text, out, c.want, c.word)
		}
		if c.word == "" && out.Len() > 0 {
			t.Errorf("%s: output %q", c.name, out)
		}
	}
}

// The user's input is checked, requested again if it is invalid, and shown before it is sent.
func TestDialogue(t *testing.T) {
	for _, c := range []struct {
		name, method, params string
		flags                []string
		typed, want          string
		shown                []string
	}{
		{"form", "elicitation/create", nameForm, nil, "\nUgg\nold\n7\ny\n", `{"action":"accept","content":{"name":"Ugg","age":7}}`,
			[]string{"tool asks:\n  who?\n", "  Your name: a value is required\n", "age (integer, 1 or more; enter = 30): want a whole number\n", `  Your name: "Ugg"`, "Send this?"}},
		{"default", "elicitation/create", nameForm, nil, "Ugg\n\n\n", `{"action":"accept","content":{"name":"Ugg","age":30}}`, nil},
		{"not sent", "elicitation/create", nameForm, nil, "Ugg\n\nmaybe\nNo\n", `{"action":"decline"}`, nil},
		{"again", "elicitation/create", nameForm, nil, "Ug\n\na\nUgg\n8\nyes\n", `{"action":"accept","content":{"name":"Ugg","age":8}}`, nil},
		{"canceled", "elicitation/create", nameForm, nil, "Ugg\n", `{"action":"cancel"}`, nil},
		{"one field from a flag", "elicitation/create", nameForm, []string{"--answer", "age=9"}, "Ugg\n\n", `{"action":"accept","content":{"name":"Ugg","age":9}}`, []string{"  age: 9\n"}},
		{"invalid value from a flag", "elicitation/create", nameForm, []string{"--answer", "age=0", "--answer", "name=Ugg"}, "9\n\n", `{"action":"accept","content":{"name":"Ugg","age":9}}`,
			[]string{"--answer age: want a whole number, 1 or more\n"}},
		{"all fields from flags", "elicitation/create", nameForm, []string{"--answer", "name=Ugg"}, "", `{"action":"accept","content":{"name":"Ugg","age":30}}`, nil},
		{"consent", "elicitation/create", noForm, nil, "\n", `{"action":"accept","content":{}}`, []string{"  ok?\n"}},
		{"page", "elicitation/create", page, nil, "y\n", `{"action":"accept"}`, []string{"https://example.com/a?b=c\n", "page of example.com in a browser"}},
		{"page, declined by default", "elicitation/create", page, nil, "\n", `{"action":"decline"}`, nil},
		{"page, canceled", "elicitation/create", page, nil, "", `{"action":"cancel"}`, nil},
		{"page with a host name that is not ASCII", "elicitation/create", `{"mode":"url","url":"https://ex\u0430mple.com"}`, nil, "n\n", `{"action":"decline"}`, []string{"warning: the host name contains international characters"}},
		{"model", "sampling/createMessage", model, nil, "be\ncause\n\n", `{"role":"assistant","content":{"type":"text","text":"be\ncause"},"model":"a person at the terminal","stopReason":"endTurn"}`,
			[]string{"tool asks your model", "  system:\n    be brief\n", "  user:\n    why?\\x1b[2J\n", "at most 9 tokens"}},
		{"model, empty response", "sampling/createMessage", model, nil, "\n", `User rejected`, nil},
		{"model, canceled", "sampling/createMessage", model, nil, "", `User rejected`, nil},
		{"roots", "roots/list", ``, nil, "", `/internal/cli/ask"}]}`, []string{"roots sent to tool: file:///"}},
	} {
		a, out := answering(t, strings.NewReader(c.typed), c.flags...)
		got, err := a.answer(t.Context(), c.method, json.RawMessage(c.params))
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if err == nil && !strings.HasSuffix(text, c.want) || err != nil && !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s\n%s", c.name, text, c.want, out)
		}
		for _, shown := range c.shown {
			if !strings.Contains(out.String(), shown) {
				t.Errorf("%s: %q is not in\n%s", c.name, shown, out)
			}
		}
	}
}

// Questions are asked one at a time. After a question has been canceled, the input goes to the next one.
func TestDialogueTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		a, _ := answering(t, in)
		gone := errors.New("withdrawn")
		ctx, withdraw := context.WithCancelCause(t.Context())
		first, second := make(chan error, 1), make(chan string, 1)
		go func() {
			_, err := a.answer(ctx, "elicitation/create", json.RawMessage(noForm))
			first <- err
		}()
		synctest.Wait()
		go func() {
			got, err := a.answer(t.Context(), "elicitation/create", json.RawMessage(page))
			second <- string(got)
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		select {
		case got := <-second:
			t.Fatalf("the second question did not wait: %s", got)
		default:
		}
		withdraw(gone)
		if err := <-first; err != gone {
			t.Errorf("canceled question: %v", err)
		}
		synctest.Wait()
		io.WriteString(keyboard, "y\n")
		if got := <-second; got != string(accepted) {
			t.Errorf("second question: %s", got)
		}
		keyboard.Close()
	})
}

func TestBadAnswerFlags(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(broken, []byte(`[]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--answer", "x"}, {"--answer", "=x"}, {"--answer", "@/no/such/file"}, {"--answer", "@" + broken}} {
		cmd := &cobra.Command{}
		a := &answerer{}
		a.add(cmd)
		if err := cmd.ParseFlags(flags); err != nil {
			t.Fatal(err)
		}
		if err := a.begin(cmd, "tool", terminal.NewProgressBar(io.Discard)); err == nil {
			t.Errorf("%v was accepted", flags)
		}
	}
}

// Text from a server never starts in the first column, where the command's own questions start. This holds for names of
// fields, for defaults, and for long texts that a terminal with 80 columns would wrap.
func TestServerTextIsIndented(t *testing.T) {
	const ours = "Send this? [Y]es, [n]o, [a]gain: "
	long := strings.Repeat("word ", 14) + strings.Repeat(" ", 200) + ours + strings.Repeat("界", 50) + ours
	field := func(name string) string {
		return string(form.Quoted(name)) + `:{"type":"string","title":` + string(form.Quoted(name)) + `,"description":` + string(form.Quoted(long)) + `,"default":` + string(form.Quoted(name)) + `}`
	}
	params := `{"message":` + string(form.Quoted(long+"\n"+ours)) + `,"requestedSchema":{"type":"object","required":["` + ours + `"],"properties":{` +
		field(ours) + `,` + field(long) + `}}}`
	a, out := answering(t, nil)
	a.person = newQuestioner(io.TeeReader(iotest.OneByteReader(strings.NewReader("\n\n\n")), out), out) // a terminal echoes the input
	if got, err := a.answer(t.Context(), "elicitation/create", json.RawMessage(params)); err != nil || !strings.Contains(string(got), "accept") {
		t.Fatalf("%s, %v", got, err)
	}
	starts := 0
	for _, line := range strings.Split(out.String(), "\n") {
		width := 0
		for _, r := range line {
			if width++; r > 0x2e80 {
				width++
			}
		}
		if width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
		if strings.HasPrefix(line, "Send") {
			starts++
		}
	}
	if !strings.HasSuffix(out.String(), "\n"+ours+"\n") || starts > 1 {
		t.Errorf("%d lines start with Send, want only the last one:\n%s", starts, out)
	}
}
