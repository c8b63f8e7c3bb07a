package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/cli/command"
)

// systemd manages units of the systemd user instance.
type systemd struct{ run runner }

// startTime limits a start: systemctl returns when the gateway listens.
const startTime = 90 * time.Second

func (systemd) kind() string { return "systemd user service" }

func (m systemd) available(ctx context.Context) error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return command.Fail(command.ExitFailed, errors.New("this system has no systemd: systemctl was not found"), manualHint)
	}
	if _, err := m.run.limited(ctx, "systemctl", "--user", "show-environment"); err != nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("systemd does not run services for this user: %w", err),
			"log in as this user, or use \"machinectl shell\" instead of su and sudo, so that its systemd instance runs\notherwise "+manualHint)
	}
	return nil
}

func (systemd) file(name string) (string, error) {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "systemd", "user", unit(name)), nil
}

func unit(name string) string { return name + ".service" }

func (systemd) logFile(string) (string, error) { return "", nil }

func (systemd) readLog(name string) string { return "journalctl --user -u " + name }

func (m systemd) tail(ctx context.Context, name string) string {
	out, _ := m.run.limited(ctx, "journalctl", "--user", "-u", unit(name), "-n", strconv.Itoa(tailLines), "-o", "cat", "--no-pager", "-q")
	return out
}

func (systemd) render(d definition) string {
	var b strings.Builder
	b.WriteString(`# Written by "goblin-actor service install". To change it, uninstall and install the service again.
[Unit]
Description=MCP gateway

[Service]
Type=notify
`)
	b.WriteString("ExecStart=" + quoteExec(d.program))
	for _, arg := range d.args {
		b.WriteString(" " + quoteExec(arg))
	}
	b.WriteString("\nExecReload=/bin/kill -HUP $MAINPID\nWorkingDirectory=" + strings.ReplaceAll(d.home, "%", "%%") + "\n")
	for _, pair := range d.env {
		b.WriteString("Environment=" + quoteUnit(pair) + "\n")
	}
	b.WriteString(`# The gateway gets SIGTERM, finishes running calls and stops its servers. What remains after the timeout is killed.
KillMode=mixed
TimeoutStopSec=45
Restart=on-failure
RestartSec=10

[Install]
WantedBy=default.target
`)
	return b.String()
}

// quoteUnit quotes a word of a unit file.
func quoteUnit(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}

// quoteExec quotes a word of a command line, in which systemd expands variables.
func quoteExec(word string) string { return strings.ReplaceAll(quoteUnit(word), "$", "$$") }

func (m systemd) enable(ctx context.Context, d definition, _ string) ([]string, error) {
	if _, err := m.run.limited(ctx, "systemctl", "--user", "daemon-reload"); err != nil {
		return nil, err
	}
	if _, err := m.run.limited(ctx, "systemctl", "--user", "enable", unit(d.name)); err != nil {
		return nil, err
	}
	if m.lingers(ctx) {
		return nil, nil
	}
	if _, err := m.run.limited(ctx, "loginctl", "--no-ask-password", "enable-linger"); err != nil {
		return []string{"the service stops when you log out (" + err.Error() + "); to keep it running and to start it with the machine, run: " + lingerCommand()}, nil
	}
	return []string{"lingering was enabled, so your services start with the machine and keep running after you log out; to undo, run: loginctl disable-linger"}, nil
}

// lingerCommand returns the command that lets the user's services run without a login.
func lingerCommand() string { return "sudo loginctl enable-linger " + os.Getenv("USER") }

// lingers reports whether the user's services run without a login.
func (m systemd) lingers(ctx context.Context) bool {
	out, err := m.run.limited(ctx, "loginctl", "show-user", strconv.Itoa(os.Getuid()), "--property=Linger", "--value")
	return err == nil && strings.TrimSpace(out) == "yes"
}

func (m systemd) disable(ctx context.Context, name, _ string) error {
	_, err := m.run(ctx, "systemctl", "--user", "disable", "--now", unit(name))
	return err
}

func (systemd) waits() bool { return true }

func (m systemd) start(ctx context.Context, name, _ string) error {
	ctx, stop := context.WithTimeout(ctx, startTime)
	defer stop()
	_, err := m.run(ctx, "systemctl", "--user", "start", unit(name))
	return err
}

func (m systemd) stop(ctx context.Context, name string) error {
	_, err := m.run(ctx, "systemctl", "--user", "stop", unit(name))
	return err
}

func (m systemd) state(ctx context.Context, name string) (state, error) {
	out, err := m.run.limited(ctx, "systemctl", "--user", "show", unit(name), "--property=ActiveState,SubState,MainPID,UnitFileState")
	if err != nil {
		return state{}, err
	}
	values := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	s := state{running: values["ActiveState"] == "active", text: values["ActiveState"] + " (" + values["SubState"] + ")"}
	if pid, err := strconv.Atoi(values["MainPID"]); err == nil && s.running {
		s.pid = pid
	}
	switch {
	case values["UnitFileState"] != "enabled":
		s.starts = "only by hand; to start it automatically, run: systemctl --user enable " + name
	case m.lingers(ctx):
		s.starts = "with the machine"
	default:
		s.starts = "when you log in, and it stops when you log out; to start it with the machine, run: " + lingerCommand()
	}
	return s, nil
}
