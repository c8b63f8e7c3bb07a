package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
)

// manager is the service manager of a system.
type manager interface {
	// kind names the service in sentences, such as "systemd user service".
	kind() string

	// available returns an error if the manager cannot be used here.
	available(ctx context.Context) error

	// file returns the path of the service's definition.
	file(name string) (string, error)

	// logFile returns the path of the log that the gateway writes, or "" if the manager keeps the log.
	logFile(name string) (string, error)

	// readLog tells the user where the log is: it returns the path of the log file, or the command that prints the log.
	readLog(name string) string

	// tail returns the last lines of the log.
	tail(ctx context.Context, name string) string

	// render returns the definition as a file.
	render(d definition) string

	// enable makes the service start from now on when the machine starts or the user logs in. The definition is at
	// file. It returns remarks for the user.
	enable(ctx context.Context, d definition, file string) (remarks []string, err error)

	// disable stops the service and undoes enable. The caller removes the file.
	disable(ctx context.Context, name, file string) error

	// waits reports whether start returns only when the gateway is ready.
	waits() bool

	// start starts the service.
	start(ctx context.Context, name, file string) error

	// stop stops the service until the next start.
	stop(ctx context.Context, name string) error

	// state returns the current state.
	state(ctx context.Context, name string) (state, error)
}

// state is the state of an installed service.
type state struct {
	running bool
	text    string // for the user, such as "active (running)"
	pid     int    // 0 = not running or unknown
	starts  string // when the service starts by itself, and what to do if that is not enough
}

// commandTime limits each command of a service manager, except one that waits for the gateway.
const commandTime = 20 * time.Second

// tailLines is the number of log lines that an error shows.
const tailLines = 5

// thisManager returns the manager of this system.
func thisManager() (manager, error) {
	switch runtime.GOOS {
	case "linux":
		return systemd{run: runCommand}, nil
	case "darwin":
		return launchd{run: runCommand, uid: os.Getuid()}, nil
	case "windows":
		return tasks{run: runCommand}, nil
	}
	return nil, command.Fail(command.ExitFailed, fmt.Errorf("services are not supported on %s", runtime.GOOS), manualHint)
}

// manualHint is the hint where no service manager can be used.
const manualHint = "run \"goblin-actor serve\" from this system's own supervisor; \"goblin-actor service install --print\" prints what a service would run"

// runner runs a program and returns its standard output. The error contains the beginning of what the program printed,
// stderr first.
type runner func(ctx context.Context, program string, args ...string) (string, error)

func runCommand(ctx context.Context, program string, args ...string) (string, error) {
	var out, errOut strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		said := terminal.OneLine(errOut.String()+" "+out.String(), 400)
		if said == "" {
			said = err.Error()
		}
		err = errors.New(said)
	}
	return out.String(), fmt.Errorf("%s %s: %w", program, strings.Join(args[:min(2, len(args))], " "), err)
}

// limited runs a command, and kills it after commandTime.
func (r runner) limited(ctx context.Context, program string, args ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, commandTime)
	defer stop()
	return r(ctx, program, args...)
}
