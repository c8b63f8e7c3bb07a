package tui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"goblin-actor/internal/status"
)

const consult = `{"type":"object","required":["name","topic"],"properties":{"name":{"type":"string","title":"Your name","minLength":2},
	"topic":{"type":"string","default":"gold","enum":["gold","love"]},"age":{"type":"integer","minimum":1}}}`

// asking shows a form whose call asks questions. It returns when the console has shown them.
func asking(t *testing.T, events ...status.UseEvent) (*testConsole, *user) {
	t.Helper()
	s, u := formConsole(t, `{"name":"files_read_file"}`, true)
	u.answer = func(ctx context.Context, tell func(status.UseEvent)) (status.UseResult, error) {
		for _, e := range events {
			tell(e)
		}
		<-ctx.Done()
		return status.UseResult{}, ctx.Err()
	}
	t.Cleanup(s.app.stop)
	s.press("<ctrl-r>")
	<-u.used
	for range events {
		s.happen()
	}
	return s, u
}

func asked(id, message, schema string) status.UseEvent {
	return status.UseEvent{Question: &status.UseQuestion{ID: id, Message: message, Schema: json.RawMessage(schema)}}
}

// A question of the server is shown as a form. Faults are shown while the user types. Defaults are sent.
func TestQuestionIsAnswered(t *testing.T) {
	s, u := asking(t, asked("q1", "Who asks?\x1b[2J", consult))
	s.has("files asks")
	s.has(`Who asks?\x1b[2J`)
	s.has("1 gold, 2 love, default gold")
	s.has("ctrl-r send")
	s.press("U<ctrl-r>")
	s.has("read it first")
	s.now = s.now.Add(questionGuard)
	s.has("✗ want 2 or more characters")
	s.press("<ctrl-r>")
	s.has("not sent: Your name: want 2")
	s.press("gg<tab><tab>7<ctrl-r>")
	if got := <-u.replies; got.Question != "q1" || got.Action != status.Accept || string(got.Content) != `{"name":"Ugg","topic":"gold","age":7}` {
		t.Errorf("answered %+v with %s", got, got.Content)
	}
	s.has("running")
	s.hasNot("files asks")
}

// Questions are shown one at a time. They are declined, dismissed, or withdrawn by the server.
func TestQuestionsInTurn(t *testing.T) {
	s, u := asking(t, asked("a", "first", `{}`), asked("b", "second", `{}`), asked("c", "third", `{}`), status.UseEvent{Closed: "unknown"})
	s.has("2 more questions")
	s.now = s.now.Add(questionGuard)
	s.press("<ctrl-x>")
	if got := <-u.replies; got.Question != "a" || got.Action != status.Decline || got.Content != nil {
		t.Errorf("answered %+v", got)
	}
	s.has("second")
	s.press("<esc>")
	s.has("read it first")
	s.now = s.now.Add(questionGuard)
	s.press("<esc>")
	if got := <-u.replies; got.Question != "b" || got.Action != status.Dismiss {
		t.Errorf("answered %+v", got)
	}
	s.has("third")
	s.app.told(s.app.form, s.app.form.use, status.UseEvent{Closed: "c"})
	s.has("the server has withdrawn its question")
	s.hasNot("third")
	s.press("<esc>") // leaves the form and cancels the call
	s.has("› tools")
}

// The console never opens a page that a server asks for. The user can agree to open it, and can copy its address.
func TestQuestionAboutAPage(t *testing.T) {
	s, u := asking(t, status.UseEvent{Question: &status.UseQuestion{ID: "q", Message: "Log in", URL: "https://xn--exmple-cua.com/a"}})
	var copied string
	s.app.clipboard = func(text string) error { copied = text; return nil }
	s.has("this page of xn--exmple-cua.com")
	s.has("may imitate another one")
	s.press("c")
	if copied != "https://xn--exmple-cua.com/a" {
		t.Errorf("copied %q", copied)
	}
	s.now = s.now.Add(flashTime)
	s.press("<ctrl-r>")
	if got := <-u.replies; got.Action != status.Accept || got.Content != nil {
		t.Errorf("answered %+v", got)
	}
}

// If the address is not that of a web page, the user cannot agree to open it.
func TestQuestionAboutAnotherAddress(t *testing.T) {
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd", "https:///x", "https://a b/", "//example.com", "%"} {
		s, u := asking(t, status.UseEvent{Question: &status.UseQuestion{ID: "q", Message: "Log in", URL: address}})
		s.has("this question cannot be shown")
		s.now = s.now.Add(questionGuard)
		s.press("<ctrl-r>")
		s.has("not sent: ")
		if len(u.replies) > 0 {
			t.Errorf("agreed to %s", address)
		}
	}
}

// The rest of long arguments can be read before the call is made.
func TestAskingAboutLongArguments(t *testing.T) {
	s, u := formConsole(t, readFile, false)
	s.app.PasteHandler()(strings.Repeat("long ", 2000)+"the end", nil)
	s.press("<ctrl-r>")
	s.has("files_read_file may change something; call it with these arguments? y/n")
	s.hasNot("the end")
	s.press(strings.Repeat("<pgdn>", 20))
	s.has("the end")
	s.press("y")
	<-u.used
	s.happen()
}
