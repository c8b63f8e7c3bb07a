package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
)

// Exit codes; scripts rely on them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // anything not below
	ExitUsage       = 2   // wrong command line
	ExitConfig      = 3   // invalid configuration
	ExitUnreachable = 4   // no gateway there
	ExitPeerError   = 5   // it answered, with an error
	ExitInterrupted = 130 // by SIGINT or SIGTERM
)

// Error ends the program with code after printing "error: err" and, if there is one, "hint: hint".
// A nil err prints nothing: what there was to say has been said. Several lines in err are printed as several
// "error:" lines, so that all faults of a configuration read alike.
type Error struct {
	Code int
	Err  error
	Hint string // what to type next, or ""
}

// Fail returns an error with an exit code and a hint, which may be empty.
func Fail(code int, err error, hint string) error { return &Error{code, err, hint} }

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// UsageError is a wrong command line: exit code 2. The hint may be empty.
func UsageError(hint, format string, args ...any) error {
	return Fail(ExitUsage, fmt.Errorf(format, args...), hint)
}

// PrintError prints err as people and scripts expect it and returns the exit code.
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
	tell := func() {
		p := terminal.PaletteFor(w)
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(w, "%s %s\n", p.Bad("error:"), terminal.Clean(strings.TrimRight(line, "\n")))
		}
		for line := range strings.Lines(program.Hint(hint)) {
			fmt.Fprintf(w, "%s %s\n", p.Good("hint:"), terminal.Clean(strings.TrimRight(line, "\n")))
		}
	}
	if code == ExitInterrupted {
		BestEffort(tell)
	} else {
		tell()
	}
	return code
}
