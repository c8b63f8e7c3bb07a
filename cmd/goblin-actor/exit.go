package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"goblin-actor/protocol/upstream/process"
)

// Exit codes; scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1   // anything not below
	exitUsage       = 2   // wrong command line
	exitConfig      = 3   // invalid configuration
	exitUnreachable = 4   // no gateway there
	exitAnswered    = 5   // it answered, with an error
	exitInterrupted = 130 // by SIGINT or SIGTERM
)

// exitError ends the program with code after printing "error: err" and, if there is one, "hint: hint".
// A nil err prints nothing: what there was to say has been said. Several lines in err are printed as several
// "error:" lines, so that all faults of a configuration read alike.
type exitError struct {
	code int
	err  error
	hint string // what to type next, or ""
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is a wrong command line: exit code 2. The hint may be empty.
func usageError(hint, format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...), hint}
}

// report prints err as people and scripts expect it and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code, hint := exitFailed, ""
	if e, ok := errors.AsType[*exitError](err); ok {
		code, hint = e.code, e.hint
		if e.err == nil {
			return code
		}
	}
	tell := func() {
		p := paletteFor(w)
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(w, "%s %s\n", p.bad("error:"), clean(strings.TrimRight(line, "\n")))
		}
		for line := range strings.Lines(asStarted(hint)) {
			fmt.Fprintf(w, "%s %s\n", p.good("hint:"), clean(strings.TrimRight(line, "\n")))
		}
	}
	if code == exitInterrupted {
		impatiently(tell)
	} else {
		tell()
	}
	return code
}

// impatiently runs write, which writes to a terminal or a pipe, but waits for no more than a second: whoever interrupts a
// command wants it to end, also when nobody takes what it has to say.
func impatiently(write func()) {
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

// interruptible returns the command's context, ended by the first SIGINT or SIGTERM; a second one ends the process and
// the servers it has started at once. Call stop when done.
func interruptible(cmd *cobra.Command) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		select {
		case <-signals:
			cancel(errInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			process.KillAll()
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		cancel(context.Canceled)
		close(done)
	})
}

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = &exitError{code: exitInterrupted, err: errors.New("interrupted")}

// errQuiet ends a command that only watched something, which an interruption takes nothing from.
var errQuiet = &exitError{code: exitInterrupted}

// watched is the end of a command that only watched something.
func watched(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), error(errInterrupted)) {
		return errQuiet
	}
	return err
}
