package tui

import (
	"testing"

	"goblin-actor/internal/status"
)

// switchConsole returns a console and the actions that it sends. The gateway has a configuration file, in which a tool of files
// is disabled.
func switchConsole(t *testing.T, o Options) (*testConsole, chan status.Action) {
	t.Helper()
	s := newTestConsole(t, 120, 40, o)
	acted := make(chan status.Action, 1)
	s.app.source = &fixed{acted: acted}
	p := samplePicture()
	p.Config = "/etc/goblin/goblin.yaml"
	p.Servers[0].DisabledTools = []string{"old_tool\x1b[2J"}
	s.app.take(p)
	return s, acted
}

// sent waits for an action and checks that it has an aim and otherwise equals want.
func (s *testConsole) sent(acted <-chan status.Action, want status.Action) {
	s.t.Helper()
	got := <-acted
	if got.Aim == "" {
		s.t.Errorf("%s has no aim", got.Verb)
	}
	if got.Aim = ""; got != want {
		s.t.Errorf("sent %+v, want %+v", got, want)
	}
}

// told waits for the result of an action and compares its text with want.
func (s *testConsole) told(want string) {
	s.t.Helper()
	if got := <-s.app.outcomes; got.text != want {
		s.t.Errorf("got %q, want %q", got.text, want)
	}
}

// x on a server disables it after a question that says what that hits, and enables a disabled one without a question.
func TestSwitchServer(t *testing.T) {
	s, acted := switchConsole(t, Options{Config: "/etc/goblin/goblin.yaml"})
	s.press(":servers<enter>/github<enter>x")
	s.has("= goblin-actor disable github")
	s.has("= goblin-actor enable github  it is enabled")
	s.choose("enable the server")
	s.has("enable the server: it is enabled")
	s.press("<esc>x")
	s.choose("disable the server")
	s.has("disable server github? 3 client sessions open; 2 calls may finish; y/n")
	s.press("n")
	s.has("canceled")
	s.press("x")
	s.choose("disable the server")
	s.press("y")
	s.sent(acted, status.Action{Verb: status.Disable, Server: "github"})
	s.told("disabled server github in goblin.yaml  = goblin-actor disable github")

	s.press("/<esc>/old<enter>x")
	s.has("= goblin-actor disable old  it is disabled")
	s.choose("enable the server")
	s.sent(acted, status.Action{Verb: status.Enable, Server: "old"})

	s.press("/<esc>/files<enter>x")
	s.choose("disable the server")
	s.has("disable server files? 3 client sessions open; 1 call may finish; 1 subscription will get no updates; y/n")
}

// ctrl-d disables a tool. A disabled tool has a row, on which x enables it.
func TestSwitchTool(t *testing.T) {
	s, acted := switchConsole(t, Options{}) // commands of the user would edit another file
	s.press("2/read_file<enter>")
	s.press("<ctrl-d>")
	s.has("disable tool read_file of files? 3 client sessions open; y/n")
	s.press("y")
	s.sent(acted, status.Action{Verb: status.Disable, Server: "files", Tool: "read_file"})
	s.told("disabled tool read_file of files in goblin.yaml  = goblin-actor disable files/read_file --config /etc/goblin/goblin.yaml")

	s.press("/<esc>/old_tool<enter>")
	s.has(`▌ old_tool\x1b[2J`)
	s.has("disabled")
	s.press("<ctrl-d>")
	s.has("ctrl-d: it is disabled")
	s.press("r")
	s.has("this tool is disabled; press x to enable it")
	s.press("x")
	s.has(`= goblin-actor enable 'files/old_tool\x1b[2J'`)
	harmless(t, s, "the actions of a disabled tool")
	s.choose("enable the tool")
	s.sent(acted, status.Action{Verb: status.Enable, Server: "files", Tool: "old_tool\x1b[2J"})
}

// The list of actions says why a server or a tool cannot be enabled or disabled.
func TestNoSwitch(t *testing.T) {
	s, _ := switchConsole(t, Options{ReadOnly: true})
	s.press("2/read_file<enter><ctrl-d>")
	s.has("ctrl-d: this console is read-only")
	s.press("x")
	s.choose("enable the tool")
	s.has("enable the tool: this console is read-only")

	s, _ = switchConsole(t, Options{})
	p := *s.app.picture
	snapshot := *p.Snapshot
	p.Snapshot = &snapshot
	snapshot.Config = ""
	s.app.take(&p)
	s.press("1/files<enter>x")
	s.choose("disable the server")
	s.has("disable the server: the gateway runs without a configuration file")

	p2 := *samplePicture()
	p2.Config = "goblin.yaml"
	for i := range p2.Backends {
		if p2.Backends[i].Server == "github" {
			p2.Backends[i].Member = []string{"a", "b", "c", "d", "e", "f"}[i]
		}
	}
	s.app.take(&p2)
	s.press("<esc>/<esc>/github<enter>x")
	s.choose("disable the server")
	s.has("disable the server: it is a group; enable or disable its members: b, c")
}
