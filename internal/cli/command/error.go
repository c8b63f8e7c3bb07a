package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
)

// Exit codes. Scripts rely on them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // any other failure
	ExitUsage       = 2   // invalid command line
	ExitConfig      = 3   // invalid configuration
	ExitUnreachable = 4   // no gateway answers
	ExitPeerError   = 5   // the gateway or server returned an error
	ExitInterrupted = 130 // by SIGINT or SIGTERM
)

// Error ends the program with the exit code Code after printing "error: Err" and, if Hint is not empty, "hint: Hint".
// If Err or Hint has several lines, each line gets its own "error:" or "hint:". If Err is nil, nothing is printed: the
// command has already reported the problem.
type Error struct {
	Code int
	Err  error
	Hint string // what the user can do, or ""
}

// Fail returns an *Error. The hint may be empty.
func Fail(code int, err error, hint string) error { return &Error{code, err, hint} }

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// UsageError returns the error of an invalid command line, with exit code 2. The hint may be empty.
func UsageError(hint, format string, args ...any) error {
	return Fail(ExitUsage, fmt.Errorf(format, args...), hint)
}

// PrintError prints err with its hint and returns the exit code. A nil err means success.
func PrintError(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	code, hint := ExitFailed, ""
	if e, ok := errors.AsType[*Error](err); ok {
		code, hint = e.Code, e.Hint
		if e.Err == nil {
			return code
		}
	}
	printError := func() {
		p := terminal.PaletteFor(w)
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(w, "%s %s\n", p.Bad("error:"), terminal.Clean(strings.TrimRight(line, "\n")))
		}
		for line := range strings.Lines(program.Hint(hint)) {
			fmt.Fprintf(w, "%s %s\n", p.Good("hint:"), terminal.Clean(strings.TrimRight(line, "\n")))
		}
	}
	if code == ExitInterrupted {
		BestEffort(printError)
	} else {
		printError()
	}
	return code
}
