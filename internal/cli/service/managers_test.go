package service

import (
	"context"
	"errors"
	"strings"
	"testing"

	"goblin-actor/internal/cli/command"
)

// fakeRunner returns the answer whose key is a prefix of the command line. A command without an answer fails. Each
// command line is added to said.
func fakeRunner(answers map[string]string, said *[]string) runner {
	return func(_ context.Context, program string, args ...string) (string, error) {
		line := strings.Join(append([]string{program}, args...), " ")
		*said = append(*said, line)
		for prefix, answer := range answers {
			if strings.HasPrefix(line, prefix) {
				return answer, nil
			}
		}
		return "", errors.New("refused")
	}
}

// The state of a service is read from the output of the service managers.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name    string
		manager func(runner) manager
		answers map[string]string
		running bool
		pid     int
		text    string
	}{
		{"systemd runs", newSystemd, map[string]string{"systemctl --user show": "ActiveState=active\nSubState=running\nMainPID=42\nUnitFileState=enabled\n"}, true, 42, "active (running)"},
		{"systemd retries", newSystemd, map[string]string{"systemctl --user show": "ActiveState=activating\nSubState=auto-restart\nMainPID=0\nUnitFileState=enabled\n"}, false, 0, "activating (auto-restart)"},
		{"launchd runs", newLaunchd, map[string]string{"launchctl print": "gui/501/work = {\n\tstate = running\n\tpid = 77\n}\n"}, true, 77, "running"},
		{"launchd waits", newLaunchd, map[string]string{"launchctl print": "gui/501/work = {\n\tstate = spawn scheduled\n}\n"}, false, 0, "spawn scheduled"},
		{"launchd after a stop", newLaunchd, nil, false, 0, "not loaded"},
		{"Windows runs", newTasks, map[string]string{"powershell": "Running\r\n"}, true, 0, "running"},
		{"Windows waits", newTasks, map[string]string{"powershell": "Ready\r\n"}, false, 0, "ready"},
	} {
		var said []string
		got, err := c.manager(fakeRunner(c.answers, &said)).state(t.Context(), "work")
		if err != nil || got.running != c.running || got.pid != c.pid || got.text != c.text || got.starts == "" {
			t.Errorf("%s: got %+v, %v, want %v, pid %d, %q", c.name, got, err, c.running, c.pid, c.text)
		}
	}
}

func newSystemd(r runner) manager { return systemd{r} }
func newLaunchd(r runner) manager { return launchd{r, 501} }
func newTasks(r runner) manager   { return tasks{r} }

// Each operation runs the right commands of the service manager, in order.
func TestCommands(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name    string
		manager func(runner) manager
		answers map[string]string
		do      func(manager) error
		want    []string
	}{
		{"launchd starts", newLaunchd, map[string]string{"launchctl bootstrap": ""}, func(m manager) error { return m.start(ctx, "work", "/a b.plist") },
			[]string{"launchctl print gui/501/work", "launchctl bootstrap gui/501 /a b.plist"}},
		{"launchd starts again", newLaunchd, map[string]string{"launchctl": ""}, func(m manager) error { return m.start(ctx, "work", "/a.plist") },
			[]string{"launchctl print gui/501/work", "launchctl kickstart gui/501/work"}},
		{"launchd removes", newLaunchd, map[string]string{"launchctl": ""}, func(m manager) error { return m.disable(ctx, "work", "/a.plist") },
			[]string{"launchctl print gui/501/work", "launchctl bootout gui/501/work"}},
		{"Windows installs", newTasks, map[string]string{"schtasks": ""}, func(m manager) error { _, err := m.enable(ctx, definition{name: "work"}, `C:\a b.xml`); return err },
			[]string{`schtasks /Create /TN work /XML C:\a b.xml`}},
		{"Windows removes", newTasks, map[string]string{"schtasks /Delete": ""}, func(m manager) error { return m.disable(ctx, "work", "") },
			[]string{"schtasks /End /TN work", "schtasks /Delete /TN work /F"}},
		{"systemd removes", newSystemd, map[string]string{"systemctl": ""}, func(m manager) error { return m.disable(ctx, "work", "") },
			[]string{"systemctl --user disable --now work.service"}},
	} {
		var said []string
		if err := c.do(c.manager(fakeRunner(c.answers, &said))); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, want := strings.Join(said, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// If the user may not enable lingering, a remark says what to run. The service is installed nevertheless.
func TestLingerRefused(t *testing.T) {
	var said []string
	m := systemd{fakeRunner(map[string]string{"systemctl": "", "loginctl show-user": "no\n"}, &said)}
	remarks, err := m.enable(t.Context(), definition{name: "work"}, "")
	if err != nil || len(remarks) != 1 || !strings.Contains(remarks[0], "sudo loginctl enable-linger") {
		t.Errorf("got %q, %v, want a remark with the command", remarks, err)
	}
	m = systemd{fakeRunner(map[string]string{"systemctl": "", "loginctl show-user": "yes\n"}, &said)}
	if remarks, err := m.enable(t.Context(), definition{name: "work"}, ""); err != nil || len(remarks) != 0 {
		t.Errorf("with lingering: got %q, %v, want no remark", remarks, err)
	}
}

// Without systemd, the error says so, and the hint names the alternatives.
func TestWithoutSystemd(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := systemd{runCommand}.available(t.Context())
	e, ok := errors.AsType[*command.Error](err)
	if !ok || !strings.Contains(err.Error(), "has no systemd") || !strings.Contains(e.Hint, "service install --print") {
		t.Errorf("got %v, want an error with a hint", err)
	}
}
