package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/status"
	"goblin-actor/tui"
)

func newTUI() *cobra.Command {
	var connect, view, skin string
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Look at a running gateway",
		Long: `Show on the terminal what a running gateway does: servers, connections, clients, calls, the catalog, the log.
Press ? for the keys. "goblin-actor serve --tui" does the same for a gateway of its own.

It asks the gateway's admin socket: that of the port --connect names, or the socket --connect is the path of. A gateway that goes away is waited for.`,
		Example: `  goblin-actor tui
  goblin-actor tui --connect 8730 --view calls
  goblin-actor tui --skin ./dark.yaml`,
		Args: takes(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(tui.Views(), view) {
				return usageError("views: "+strings.Join(tui.Views(), " "), "--view %q is no view", view)
			}
			look := tui.Options{View: view}
			if err := prepare(cmd, &look, skin); err != nil {
				return err
			}
			path, err := adminSocket(connect, os.Getenv)
			if err != nil {
				return err
			}
			source, err := admin.Dial(path)
			if err != nil {
				return err
			}
			ctx, cancel := interruptible(cmd)
			defer cancel()
			return show(ctx, source, look)
		},
	}
	connectFlag(cmd, &connect)
	cmd.Flags().StringVar(&view, "view", "overview", "the first view")
	addSkin(cmd, &skin)
	return cmd
}

// prepare reads the skin that skin or the environment names, and refuses to go on without a terminal.
func prepare(cmd *cobra.Command, look *tui.Options, skin string) error {
	if err := skinned(look, skin, cmd.ErrOrStderr()); err != nil {
		return err
	}
	return needTerminal(cmd)
}

// needTerminal refuses to draw into a file.
func needTerminal(cmd *cobra.Command) error {
	if !isTerminal(cmd.OutOrStdout()) || !isTerminal(cmd.InOrStdin()) {
		return usageError("goblin-actor status prints the same once, as text", "the console needs a terminal")
	}
	return nil
}

// show shows the console until the user leaves or ctx ends.
func show(ctx context.Context, source status.Source, o tui.Options) error {
	if err := tui.Run(ctx, startedSource{source}, o); err != nil {
		return &exitError{exitFailed, fmt.Errorf("the console: %w", err), "is TERM set? without a terminal: goblin-actor status"}
	}
	return nil
}

// console runs the console of "serve --tui". left is closed when the user has left it; stop ends it and waits for that.
func console(ctx context.Context, source status.Source, look tui.Options, log *slog.Logger) (left <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := show(ctx, source, look); err != nil {
			log.Error("the console has ended", "err", err)
		}
	}()
	return done, func() { cancel(); <-done }
}

// quietOnTerminal returns where log lines go while the console has the terminal: they are in its log view.
func quietOnTerminal(w io.Writer) io.Writer {
	if isTerminal(w) {
		return io.Discard
	}
	return w
}
