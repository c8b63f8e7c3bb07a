package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"
)

// begin starts a program that speaks on stdio, has use talk to it, and ends it. Blocks until it has ended.
func (s *setup) begin(command []string, use func(*starting) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, 2*coldWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	said := &lastWords{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p := &starting{began: time.Now(), in: in, lines: make(chan line, 64)}
	if err := cmd.Start(); err != nil {
		return err
	}
	go p.read(out)
	err = use(p)
	_ = in.Close()
	for range p.lines { // until the program's end
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w\n%s", filepath.Base(command[0]), command[1:], err, said)
	}
	return nil
}

// starting is a program that has just been started and speaks on stdio.
type starting struct {
	began time.Time
	in    io.Writer
	lines chan line     // closed when the program has ended
	told  time.Duration // of the last word that the list has changed; 0 = none yet
}

// line is what came, and when.
type line struct {
	text []byte
	at   time.Duration
}

func (p *starting) read(out io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		p.lines <- line{text, time.Since(p.began)}
	}
}

// note notes word of a change.
func (p *starting) note(l line) {
	if bytes.Contains(l.text, []byte(`"notifications/tools/list_changed"`)) {
		p.told = l.at
	}
}

// initialize returns when its answer had come, and says that we are there.
func (p *starting) initialize() (time.Duration, error) {
	_, at, err := p.ask(1, "initialize", initializeParams)
	if err == nil {
		_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return at, err
}

// ask sends a request and returns the line of its answer, and when it came.
func (p *starting) ask(id int, method, params string) ([]byte, time.Duration, error) {
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		return nil, 0, fmt.Errorf("ask for %s: %w", method, err)
	}
	head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`, id)
	for l := range p.lines {
		if bytes.HasPrefix(l.text, head) {
			return l.text, l.at, nil
		}
		p.note(l)
	}
	return nil, 0, fmt.Errorf("it ended without an answer to %s", method)
}

// waitTold waits until some word of a change has come.
func (p *starting) waitTold(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for p.told == 0 {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return
			}
			p.note(l)
		case <-timer.C:
			return
		}
	}
}

// remembered tells whether an item of a list is one that the gateway only remembers.
func remembered(answer []byte) bool {
	return bytes.Contains(answer, []byte(`"goblin-actor/state":"cached"`))
}
