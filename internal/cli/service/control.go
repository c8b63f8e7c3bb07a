package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
)

// settleTime is how long a service that was started is watched for an early end, if its manager does not wait until the
// gateway is ready.
const settleTime = 3 * time.Second

// newStart returns the service start command.
func newStart() *cobra.Command {
	return forService(&cobra.Command{Use: "start", Short: "Start the installed service"}, func(ctx context.Context, out io.Writer, m manager, name, file string) error {
		return startService(ctx, out, m, name, file)
	})
}

// newStop returns the service stop command.
func newStop() *cobra.Command {
	return forService(&cobra.Command{
		Use:   "stop",
		Short: "Stop the service until it is started again",
		Long:  "Stop the service. Running calls may finish, except on Windows. The service starts again with the machine, or when you log in.",
	}, func(ctx context.Context, out io.Writer, m manager, name, _ string) error {
		if err := m.stop(ctx, name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "stopped the %s %s\n", m.kind(), name)
		return err
	})
}

// newUninstall returns the service uninstall command.
func newUninstall() *cobra.Command {
	return forService(&cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service",
		Long:  "Stop and remove the service. The configuration, the state and the log are kept.",
	}, func(ctx context.Context, out io.Writer, m manager, name, file string) error {
		if err := m.disable(ctx, name, file); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove the service's definition: %w", err)
		}
		_, err := fmt.Fprintf(out, "removed the %s %s\n", m.kind(), name)
		return err
	})
}

// forService makes cmd a command about an installed service. file is the path of the service's definition.
func forService(cmd *cobra.Command, run func(ctx context.Context, out io.Writer, m manager, name, file string) error) *cobra.Command {
	var name string
	nameFlag(cmd, &name)
	cmd.Args = command.Args(0, 0, "")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, file, err := findService(name)
		if err != nil {
			return err
		}
		ctx, stop := command.Interruptible(cmd)
		defer stop()
		if err := m.available(ctx); err != nil {
			return err
		}
		return run(ctx, cmd.OutOrStdout(), m, name, file)
	}
	return cmd
}

// findService returns the service manager of this system and the path of an installed service's definition.
func findService(name string) (m manager, file string, err error) {
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	if m, err = thisManager(); err != nil {
		return nil, "", err
	}
	if file, err = m.file(name); err != nil {
		return nil, "", err
	}
	_, err = os.Lstat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", command.Fail(command.ExitFailed, fmt.Errorf("no service named %s is installed", name), notInstalledHint(file))
	}
	return m, file, err
}

// notInstalledHint lists the services that are installed beside file. If there are none, it suggests installing one.
func notInstalledHint(file string) string {
	var names []string
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*"+filepath.Ext(file))) // the pattern is valid
	for _, path := range found {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "goblin-actor service install") {
			names = append(names, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		}
	}
	if len(names) == 0 {
		return "run \"goblin-actor service install\""
	}
	return "use --name with the name of an installed service: " + terminal.Names(names)
}

// startService starts the service and reports whether it runs.
func startService(ctx context.Context, out io.Writer, m manager, name, file string) error {
	err := m.start(ctx, name, file)
	if err == nil {
		err = settle(ctx, m, name)
	}
	if ctx.Err() != nil {
		return command.ErrInterrupted
	}
	if err != nil {
		return notStarted(ctx, m, name, err)
	}
	_, err = fmt.Fprintf(out, "started; log: %s\n", terminal.Clean(m.readLog(name)))
	return err
}

// settle returns an error if the service does not run after settleTime. If the manager's start waits until the gateway
// is ready, settle returns nil as soon as the service runs.
func settle(ctx context.Context, m manager, name string) error {
	var last state
	for deadline := time.Now().Add(settleTime); ; {
		s, err := m.state(ctx, name)
		if err != nil {
			return err
		}
		if last = s; s.running && m.waits() {
			return nil
		}
		if !time.Now().Before(deadline) {
			break
		}
		select {
		case <-time.After(settleTime / 10):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !last.running {
		return fmt.Errorf("its state is %s", last.text)
	}
	return nil
}

// notStarted returns the error of a service that does not run, with the last lines of its log.
func notStarted(ctx context.Context, m manager, name string, cause error) error {
	hint := "its log has the reason: " + m.readLog(name)
	if lines := strings.TrimSpace(m.tail(ctx, name)); lines != "" {
		hint = "the log (" + m.readLog(name) + ") ends with:"
		for line := range strings.Lines(lines) {
			hint += "\n  " + terminal.OneLine(line, 300)
		}
	}
	if e, ok := errors.AsType[*command.Error](cause); ok && e.Hint != "" {
		hint = e.Hint + "\n" + hint
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("the service %s does not run: %w", name, cause), hint)
}
