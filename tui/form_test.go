package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

// user is a Source that performs uses.
type user struct {
	fixed
	used    chan status.Use
	answer  func(context.Context, func(status.UseEvent)) (status.UseResult, error)
	replies chan status.UseAnswer
}

// Answer implements status.Source.
func (u *user) Answer(_ context.Context, a status.UseAnswer) error {
	u.replies <- a
	return nil
}

// Use implements status.Source.
func (u *user) Use(ctx context.Context, use status.Use, tell func(status.UseEvent)) (status.UseResult, error) {
	u.used <- use
	return u.answer(ctx, tell)
}

// formConsole shows a tool with the given definition and opens its form.
func formConsole(t *testing.T, definition string, readOnly bool) (*testConsole, *user) {
	t.Helper()
	s := newTestConsole(t, 120, 40, Options{})
	u := &user{used: make(chan status.Use, 1), replies: make(chan status.UseAnswer, 9), answer: func(context.Context, func(status.UseEvent)) (status.UseResult, error) {
		return status.UseResult{Result: json.RawMessage(`{"content":[{"type":"text","text":"buy milk` + "\\u001b" + `"}]}`)}, nil
	}}
	s.app.source = u
	p := *samplePicture()
	p.Items = &status.Items{Version: 99, Tools: []status.Item{{Server: "files", Public: "files_read_file", ReadOnly: readOnly, Raw: definition}},
		Templates: []status.Item{{Server: "files", Public: "file:///{path}"}}}
	s.app.take(&p)
	s.press("2r")
	return s, u
}

// happen waits for a function that a goroutine has passed to afterwards, and runs it.
func (s *testConsole) happen() {
	s.t.Helper()
	select {
	case do := <-s.app.later:
		do()
	case <-time.After(20 * time.Second):
		s.t.Fatal("nothing happened")
	}
}

const readFile = `{"name":"files_read_file","inputSchema":{"type":"object","required":["path"],"properties":{
	"path":{"type":"string"},"head":{"type":"integer","minimum":1},"opts":{"type":"object"}}}}`

// A form shows faults while the user types, shows its command line, and sends typed arguments.
func TestForm(t *testing.T) {
	s, u := formConsole(t, readFile, true)
	s.has("call files_read_file")
	s.has("read-only")
	s.press("/n/todo.md<tab>twenty")
	s.has("✗ want integer")
	s.press("<ctrl-r>")
	s.has("not sent: head: want integer")
	s.press("<backspace><backspace><backspace><backspace><backspace><backspace>7")
	s.has("= goblin-actor call files_read_file head=7 path=/n/todo.md")
	s.press("<enter><enter>")
	s.has("head=7 'opts={}' path=/n/todo.md")
	s.press("<ctrl-r>")
	if got := <-u.used; got.Tool != "files_read_file" || string(got.Arguments) != `{"head":7,"opts":{},"path":"/n/todo.md"}` {
		t.Errorf("sent %s %s", got.Tool, got.Arguments)
	}
	s.happen()
	s.has("ok  ")
	s.has(`buy milk\x1b`)
	s.press("<esc>")
	s.has("› tools")
}

// A tool that may change something is called only after confirmation.
func TestFormAsks(t *testing.T) {
	s, u := formConsole(t, readFile, false)
	s.press("a<ctrl-r>")
	s.has(`files_read_file may change something; call it with {"path":"a"}? y/n`)
	s.has("y call the tool")
	s.press("n")
	s.has("canceled")
	if len(u.used) > 0 {
		t.Error("the call was sent")
	}
	s.press("<ctrl-r>y")
	<-u.used
	s.happen()
	s.has("buy milk")
}

// Progress is shown, and ctrl-d cancels the call.
func TestFormIsCanceled(t *testing.T) {
	s, u := formConsole(t, `{"name":"files_read_file"}`, true)
	u.answer = func(ctx context.Context, tell func(status.UseEvent)) (status.UseResult, error) {
		tell(status.UseEvent{Progress: &status.UseProgress{Done: 2, Total: 5, Message: "half"}})
		<-ctx.Done()
		return status.UseResult{}, ctx.Err()
	}
	s.press("<ctrl-r>")
	<-u.used
	s.happen()
	s.has("40%")
	s.press("<ctrl-r>")
	s.has("the previous call has not ended")
	s.press("<ctrl-d>")
	s.happen()
	s.has("canceled; the server may have executed")
}

// A template is filled in and read.
func TestFormOfATemplate(t *testing.T) {
	s, u := formConsole(t, readFile, true)
	s.press("<esc>:templates<enter>ra b")
	s.has("= goblin-actor read file:///a%20b")
	s.press("<ctrl-r>")
	if got := <-u.used; got.URI != "file:///a%20b" {
		t.Errorf("read %s", got.URI)
	}
	s.happen()
}

// A template with more variables than a form can hold is not read, because the URI would lack some.
func TestFormOfALargeTemplate(t *testing.T) {
	s, u := formConsole(t, readFile, true)
	p := *samplePicture()
	p.Items = &status.Items{Version: 100, Templates: []status.Item{{Server: "files", Public: "file:///x{?" + strings.Repeat("v0,", 100) + manyNames(131) + "}"}}}
	s.press("<esc>")
	s.app.take(&p)
	s.press(":templates<enter>r")
	s.has("31 more arguments cannot be set here")
	s.press("<ctrl-r>")
	s.has("not sent: the template has more variables")
	if len(u.used) > 0 {
		t.Error("the template was read")
	}
}

// manyNames returns n names with commas between.
func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("v", i)
	}
	return strings.Join(names, ",")
}

// The key x lists the actions of a row with their command lines. The console asks before it performs a dangerous one.
func TestActs(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	acted := make(chan status.Action, 1)
	s.app.source = &fixed{acted: acted}
	var copied string
	s.app.clipboard = func(text string) error { copied = text; return nil }
	s.press("1x")
	s.has("▌ restart the server")
	s.has("= goblin-actor restart issues")
	s.has("= goblin-actor login issues  run it in a shell")
	s.press("c")
	if copied != "goblin-actor restart issues" {
		t.Errorf("copied %q", copied)
	}
	s.press("x<enter>")
	s.has("restart server issues?")
	s.press("y")
	if got := <-acted; got != samplePicture().Aimed(status.Action{Verb: status.Restart, Server: "issues"}) {
		t.Errorf("action %+v", got)
	}
	s.press("x<up>dra")
	s.has("confirm: dra_")
	s.press("<enter>")
	s.has("canceled")
	s.press("x<up>drain<enter>")
	if got := <-acted; got.Verb != status.Drain {
		t.Errorf("action %+v", got)
	}
	s.app.readOnly = true
	s.press("x<enter>")
	s.has("restart the server: this console is read-only")
}

// Pasted text is sent unchanged, even if it is long. While the console asks whether to call a tool, nothing can be pasted.
func TestPasteIntoAForm(t *testing.T) {
	s, u := formConsole(t, readFile, false)
	paste := func(text string) { s.app.PasteHandler()(text, nil) }
	long := strings.Repeat("grüße,  two spaces; ", 100)
	paste(long)
	s.press("<ctrl-r>")
	paste("something else")
	s.press("y")
	var got struct{ Path string }
	if sent := <-u.used; json.Unmarshal(sent.Arguments, &got) != nil || got.Path != long {
		t.Errorf("sent %.60q of %d bytes, want %d", got.Path, len(got.Path), len(long))
	}
	s.happen()
	paste(strings.Repeat("x", maxFormText))
	s.has("not pasted")
}

// Nothing is sent while the definition of a tool is unknown.
func TestFormWithoutADefinition(t *testing.T) {
	s, u := formConsole(t, `{"name":"files_read_file","inputSchema":{"type":"object","prop`, true) // cut
	s.press("<ctrl-r>")
	s.has("waiting for the definition")
	s.happen() // the source has none
	s.press("<ctrl-r>")
	s.has("no definition")
	if len(u.used) > 0 {
		t.Error("the call was sent")
	}
}

// The actions in the list keep their target even if the row disappears.
func TestActsOfARowThatDisappears(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	acted := make(chan status.Action, 1)
	s.app.source = &fixed{acted: acted}
	s.press(":calls<enter>x")
	call := s.app.view().table.row().Call
	p := *samplePicture()
	p.Snapshot = &status.Snapshot{}
	p.past = past{}
	s.app.take(&p)
	for _, key := range []string{"<enter>", "y"} {
		s.press(key)
	}
	select {
	case got := <-acted:
		if got.Verb != status.Cancel || got.Call != call || call == "" {
			t.Errorf("%+v, want to cancel %q", got, call)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing was done")
	}
}

// The console does not recommend a flag that the command does not have.
func TestFormOfAnInvalidDefinition(t *testing.T) {
	s, _ := formConsole(t, `{"name":"files_read_file","inputSchema":{"type":"object","properties":7}}`, true)
	s.has("; run goblin-actor call with --json in a shell")
	p := *samplePicture()
	p.Items = &status.Items{Version: 100, Prompts: []status.Item{{Server: "files", Public: "files_summarize", Raw: `{"name":"files_summarize","arguments":7}`}}}
	s.app.take(&p)
	s.press("<esc>3r")
	s.has("; run goblin-actor prompt in a shell")
	s.hasNot("--json")
}

// A tool that was replaced or removed since its form was opened is not called, not even after its question.
func TestFormOfAChangedTool(t *testing.T) {
	s, u := formConsole(t, readFile, false)
	s.press("a<ctrl-r>")
	s.has("may change something")
	p := *s.app.picture
	was := p.Items
	p.Items = &status.Items{Version: 100, Tools: []status.Item{{Server: "files", Public: "files_read_file", Raw: readFile, Description: "Delete a file"}}}
	s.app.take(&p)
	s.press("y")
	s.has("not sent: files_read_file has changed since this form was opened; press esc, then r")
	gone := p
	gone.Items = &status.Items{Version: 101}
	s.app.take(&gone)
	s.press("<ctrl-r>y")
	s.has("not sent: files_read_file is no longer offered")
	if len(u.used) > 0 {
		t.Error("the call was sent")
	}
	back := p
	back.Items = was
	s.app.take(&back)
	s.press("<ctrl-r>y")
	<-u.used
	s.happen()
	s.has("buy milk")
}
