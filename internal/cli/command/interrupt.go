package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/protocol/upstream/process"
)

// BestEffort runs write, which writes to a terminal or a pipe, but waits for no more than a second: whoever interrupts a
// command wants it to end, also when nobody takes what it has to say.
func BestEffort(write func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		write()
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// Interruptible returns the command's context, ended by the first SIGINT or SIGTERM; a second one ends the process and
// the servers it has started at once. Call stop when done.
func Interruptible(cmd *cobra.Command) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
			cancel(ErrInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			process.KillAll()
			os.Exit(ExitInterrupted)
		case <-done:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		cancel(context.Canceled)
		close(done)
	})
}

// ErrInterrupted is the cause of a context that a signal ended.
var ErrInterrupted = &Error{Code: ExitInterrupted, Err: errors.New("interrupted")}

// ErrInterruptedQuietly ends a command that only watched something, which an interruption takes nothing from.
var ErrInterruptedQuietly = &Error{Code: ExitInterrupted}

// AfterWatch is the end of a command that only watched something.
func AfterWatch(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), error(ErrInterrupted)) {
		return ErrInterruptedQuietly
	}
	return err
}
