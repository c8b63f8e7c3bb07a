package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"goblin-actor/internal/cli/command"
)

// tasks manages tasks of the Windows task scheduler. A task runs as the user, without a password and without a login. A
// service of the service control manager would run as the system, with more rights than the user whose files it
// executes, or need the user's password.
type tasks struct{ run runner }

func (tasks) kind() string { return "scheduled task" }

func (tasks) available(context.Context) error { return nil }

func (tasks) file(name string) (string, error) {
	dir, err := stateDir()
	return filepath.Join(dir, name+".xml"), err
}

func (tasks) logFile(name string) (string, error) { return logIn(name) }

func (tasks) readLog(name string) string { return readFile(name) }

func (tasks) tail(_ context.Context, name string) string { return tailFile(name) }

// render returns the task in ASCII, because the task scheduler guesses the encoding of the file. The task defines no
// environment variables: it gets those of the user.
func (tasks) render(d definition) string {
	quoted := make([]string, len(d.args))
	for i, arg := range d.args {
		quoted[i] = quoteWindows(arg)
	}
	return asciiXML(`<?xml version="1.0"?>
<!-- Written by "goblin-actor service install". To change it, uninstall and install the service again. -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>MCP gateway</Description>
  </RegistrationInfo>
  <Triggers>
    <BootTrigger>
      <Enabled>true</Enabled>
    </BootTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>` + escapeXML(d.user) + `</UserId>
      <LogonType>S4U</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>6</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>` + escapeXML(d.program) + `</Command>
      <Arguments>` + escapeXML(strings.Join(quoted, " ")) + `</Arguments>
      <WorkingDirectory>` + escapeXML(d.home) + `</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`)
}

// asciiXML replaces characters outside ASCII with character references.
func asciiXML(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

// quoteWindows quotes an argument, which is a path or a flag, so that a Windows program reads it as one argument. A
// file name contains no quotes. Backslashes at the end are removed, because they would escape the closing quote.
func quoteWindows(arg string) string {
	if !strings.ContainsAny(arg, " \t") {
		return arg
	}
	return `"` + strings.TrimRight(arg, `\`) + `"`
}

func (m tasks) enable(ctx context.Context, d definition, file string) ([]string, error) {
	return nil, asAdministrator(m.schtasks(ctx, "/Create", d.name, "/XML", file))
}

func (m tasks) disable(ctx context.Context, name, _ string) error {
	_ = m.schtasks(ctx, "/End", name) // fails if the task does not run
	return asAdministrator(m.schtasks(ctx, "/Delete", name, "/F"))
}

func (tasks) waits() bool { return false }

func (m tasks) start(ctx context.Context, name, _ string) error {
	return asAdministrator(m.schtasks(ctx, "/Run", name))
}

func (m tasks) stop(ctx context.Context, name string) error {
	return asAdministrator(m.schtasks(ctx, "/End", name))
}

func (m tasks) schtasks(ctx context.Context, verb, name string, more ...string) error {
	_, err := m.run.limited(ctx, "schtasks", append([]string{verb, "/TN", name}, more...)...)
	return err
}

// asAdministrator adds a hint to an error of schtasks, whose texts depend on the language of Windows.
func asAdministrator(err error) error {
	if err == nil {
		return nil
	}
	return command.Fail(command.ExitFailed, err, "if access was denied, run the command in a terminal that you opened as administrator")
}

// state gets the state from PowerShell, since the output of schtasks depends on the language of Windows.
func (m tasks) state(ctx context.Context, name string) (state, error) {
	out, err := m.run.limited(ctx, "powershell", "-NoProfile", "-NonInteractive", "-Command", "(Get-ScheduledTask -TaskName '"+name+"' -ErrorAction Stop).State")
	if err != nil {
		return state{}, err
	}
	text := strings.TrimSpace(out)
	if text == "" {
		return state{}, errors.New("the task scheduler reported no state")
	}
	return state{running: text == "Running", text: strings.ToLower(text), starts: "with the machine"}, nil
}
