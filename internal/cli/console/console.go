package console

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/tui"
)

// Prepare sets in o how the console looks, with the skin that the flags or $GOBLIN_SKIN name, and the configuration that
// the console's commands edit by default. It returns an error if the skin is invalid or there is no terminal.
func Prepare(cmd *cobra.Command, o *tui.Options, look *Look) error {
	o.Edit = edit
	if path, ok := config.Find("", os.Getenv); ok {
		o.Config = configfile.Absolute(path)
	}
	if err := look.set(o, cmd); err != nil {
		return err
	}
	return needTerminal(cmd)
}

// needTerminal returns an error unless input and output are terminals.
func needTerminal(cmd *cobra.Command) error {
	if !terminal.IsTerminal(cmd.OutOrStdout()) || !terminal.IsTerminal(cmd.InOrStdin()) {
		return command.UsageError("run goblin-actor status to print the status once", "the console needs a terminal")
	}
	return nil
}

// Show shows the console until the user leaves it or ctx ends.
func Show(ctx context.Context, source status.Source, o tui.Options) error {
	if err := tui.Run(ctx, startedSource{source}, o); err != nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("the console: %w", err), "check that TERM is set; without a terminal, run goblin-actor status")
	}
	return nil
}

// Start runs the console of "serve --tui". left is closed when the console has ended, usually because the user left it.
// stop ends the console and waits until it has ended.
func Start(ctx context.Context, source status.Source, look tui.Options, log *slog.Logger) (left <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Show(ctx, source, look); err != nil {
			log.Error("the console has ended", "err", err)
		}
	}()
	return done, func() { cancel(); <-done }
}

// LogWriter returns the writer for log lines while the console is shown. If w is a terminal, it is io.Discard: the
// lines would disturb the console, which shows them in its log view. Otherwise it is w.
func LogWriter(w io.Writer) io.Writer {
	if terminal.IsTerminal(w) {
		return io.Discard
	}
	return w
}
