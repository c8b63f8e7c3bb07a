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
	commandTime  = 10 * time.Second
	commandGrace = time.Second // for what it has started and that holds its stdout
)

// runCommand returns what a program writes on stdout. No shell reads the line; stdin is empty. A program that takes too long or
// writes too much is killed, with all that it has started.
func (d *decoder) runCommand(line string) (string, error) {
	words, err := splitWords(line)
	if err != nil {
		return "", err
	}
	if len(words) == 0 || words[0] == "" {
		return "", errors.New("it names no program")
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
	out := &limited{most: maxValueBytes + 2, full: func() { stop(fmt.Errorf("it writes more than %d KiB", maxValueBytes>>10)) }}
	complaint := &limited{most: 4 << 10, full: func() {}}
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = d.base, out, complaint, commandGrace
	inGroup(cmd)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "", fmt.Errorf("it took longer than %v", commandTime)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("no such program")
	case err != nil:
		return "", complain(err, complaint.kept.String())
	}
	return out.kept.String(), nil
}

// complain is why a program failed, with the last it said. What looks like a secret in it is hidden.
func complain(err error, said string) error {
	said = strings.TrimSpace(said)
	said = strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:])
	why := reason(err)
	if said != "" {
		why += ": " + shown(secret.Text(said))
	}
	return errors.New(why)
}

// limited keeps the beginning of what is written. full is called when there is more. (A bytes.Buffer would be read into without end.)
type limited struct {
	kept bytes.Buffer
	most int
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.kept.Len(); len(p) > room {
		_, _ = l.kept.Write(p[:max(room, 0)]) // a Buffer takes everything
		l.full()
		return len(p), nil
	}
	return l.kept.Write(p)
}
