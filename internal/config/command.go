package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"goblin-actor/internal/secret"
)

const (
	commandTime  = 10 * time.Second // maximum time that a program may run
	commandGrace = time.Second      // maximum time that children that hold stdout may outlive the program
)

// runCommand runs a command line without a shell and with empty stdin, and returns its stdout. A program that takes too
// long or writes too much is killed. On Unix, so are its children.
func (d *decoder) runCommand(line string) (string, error) {
	words, err := splitWords(line)
	if err != nil {
		return "", err
	}
	if len(words) == 0 || words[0] == "" {
		return "", errors.New("no program given")
	}
	ctx, cancel := context.WithDeadline(context.Background(), d.may.deadline)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, commandTime)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	program := words[0]
	if strings.ContainsAny(program, `/\~`) {
		program = d.beside(program)
	}
	out := &limited{most: maxValueBytes + 2, full: func() { stop(fmt.Errorf("wrote more than %d KiB", maxValueBytes>>10)) }}
	complaint := &limited{most: 4 << 10, full: func() {}}
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.base, out, complaint, commandGrace
	runInGroup(cmd)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		if !time.Now().Before(d.may.deadline) {
			return "", fmt.Errorf("was stopped, because %w", errLookTime)
		}
		return "", fmt.Errorf("took longer than %v", commandTime)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("no such program")
	case err != nil:
		return "", complain(err, complaint.kept.String())
	}
	return out.kept.String(), nil
}

// complain returns why a program failed, with the last line of its stderr. Likely secrets in it are hidden.
func complain(err error, said string) error {
	said = strings.TrimSpace(said)
	said = strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])
	why := reason(err)
	if said != "" {
		why += ": " + shown(secret.Text(said))
	}
	return errors.New(why)
}

// limited keeps the first bytes written to it, and calls full when there are more. (bytes.Buffer alone has no limit, and its ReadFrom would
// read forever.)
type limited struct {
	kept bytes.Buffer
	most int
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.kept.Len(); len(p) > room {
		_, _ = l.kept.Write(p[:max(room, 0)]) // never fails
		l.full()
		return len(p), nil
	}
	return l.kept.Write(p)
}
