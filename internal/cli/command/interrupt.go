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

// BestEffort runs write, which writes to a terminal or a pipe, and returns when write has ended or after a second. An
// interrupted command must end even if its output is not read.
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

// Interruptible returns the command's context, which the first SIGINT or SIGTERM cancels with ErrInterrupted. A second
// signal immediately ends this process and the servers that it has started. The caller must call stop.
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

// ErrInterrupted is the cause of a context that a signal canceled.
var ErrInterrupted = &Error{Code: ExitInterrupted, Err: errors.New("interrupted")}

// ErrInterruptedQuietly ends an interrupted command without an error message. It is for commands that print until they
// are interrupted.
var ErrInterruptedQuietly = &Error{Code: ExitInterrupted}

// AfterWatch returns the error of a command that prints until it is interrupted: ErrInterruptedQuietly if a signal
// ended it, otherwise err.
func AfterWatch(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), error(ErrInterrupted)) {
		return ErrInterruptedQuietly
	}
	return err
}
