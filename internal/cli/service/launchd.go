package service

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"goblin-actor/internal/cli/command"
)

// launchd manages agents of a macOS user.
type launchd struct {
	run runner
	uid int
}

func (launchd) kind() string { return "launchd agent" }

func (m launchd) available(ctx context.Context) error {
	if _, err := m.run.limited(ctx, "launchctl", "print", m.domain()); err != nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("launchd does not run agents for this user: %w", err), "log in at the desktop once, not only over ssh; otherwise "+manualHint)
	}
	return nil
}

// domain is the target of the user's agents.
func (m launchd) domain() string { return "gui/" + strconv.Itoa(m.uid) }

func (launchd) file(name string) (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", name+".plist"), err
}

func (launchd) logFile(name string) (string, error) { return logIn(name) }

// logIn returns the path of the log of a service whose manager keeps none.
func logIn(name string) (string, error) {
	dir, err := stateDir()
	return filepath.Join(dir, name+".log"), err
}

func (launchd) readLog(name string) string { return readFile(name) }

// readFile returns the path of the log file, or "" if it is unknown.
func readFile(name string) string {
	file, err := logIn(name)
	if err != nil {
		return ""
	}
	return file
}

func (launchd) tail(_ context.Context, name string) string { return tailFile(name) }

func (launchd) render(d definition) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "goblin-actor service install". To change it, uninstall and install the service again. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + escapeXML(d.name) + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, word := range append([]string{d.program}, d.args...) {
		b.WriteString("\t\t<string>" + escapeXML(word) + "</string>\n")
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, pair := range d.env {
		key, value, _ := strings.Cut(pair, "=")
		b.WriteString("\t\t<key>" + escapeXML(key) + "</key>\n\t\t<string>" + escapeXML(value) + "</string>\n")
	}
	b.WriteString(`	</dict>
	<key>WorkingDirectory</key>
	<string>` + escapeXML(d.home) + `</string>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>ExitTimeOut</key>
	<integer>45</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
</dict>
</plist>
`)
	return b.String()
}

// escapeXML escapes text for an XML element.
func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder returns no errors
	return b.String()
}

// enable only returns a remark: launchd starts every agent in its directory at login.
func (launchd) enable(context.Context, definition, string) ([]string, error) {
	return []string{"macOS ends agents when you log out, and starts them again when you log in"}, nil
}

func (m launchd) disable(ctx context.Context, name, _ string) error {
	if !m.loaded(ctx, name) {
		return nil
	}
	return m.stop(ctx, name)
}

func (launchd) waits() bool { return false }

func (m launchd) start(ctx context.Context, name, file string) error {
	if !m.loaded(ctx, name) {
		_, err := m.run.limited(ctx, "launchctl", "bootstrap", m.domain(), file)
		return err // RunAtLoad starts it
	}
	_, err := m.run.limited(ctx, "launchctl", "kickstart", m.domain()+"/"+name)
	return err
}

func (m launchd) stop(ctx context.Context, name string) error {
	_, err := m.run(ctx, "launchctl", "bootout", m.domain()+"/"+name)
	return err
}

func (m launchd) loaded(ctx context.Context, name string) bool {
	_, err := m.run.limited(ctx, "launchctl", "print", m.domain()+"/"+name)
	return err == nil
}

var (
	launchdState = regexp.MustCompile(`(?m)^\tstate = (.+)$`)
	launchdPID   = regexp.MustCompile(`(?m)^\tpid = (\d+)$`)
)

func (m launchd) state(ctx context.Context, name string) (state, error) {
	s := state{text: "not loaded", starts: "when you log in; it ends when you log out"}
	out, err := m.run.limited(ctx, "launchctl", "print", m.domain()+"/"+name)
	if err != nil {
		return s, nil // not loaded
	}
	if found := launchdState.FindStringSubmatch(out); found != nil {
		s.text, s.running = found[1], found[1] == "running"
	}
	if found := launchdPID.FindStringSubmatch(out); found != nil {
		s.pid, _ = strconv.Atoi(found[1]) // digits only
	}
	return s, nil
}
