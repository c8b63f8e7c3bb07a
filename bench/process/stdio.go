package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"goblin-actor/bench/wire"
)

// RunStdio starts a program that speaks MCP on stdio, calls use, and closes the program's stdin. It blocks until the
// program has ended.
func RunStdio(ctx context.Context, command []string, use func(*StdioProgram) error) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	said := &stderrTail{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p := &StdioProgram{Started: time.Now(), in: in, lines: make(chan stdioLine, 64)}
	if err := cmd.Start(); err != nil {
		return err
	}
	go p.read(out)
	err = use(p)
	_ = in.Close()
	for range p.lines { // until the program closes stdout
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w\n%s", filepath.Base(command[0]), command[1:], err, said)
	}
	return nil
}

// StdioProgram is a program that was started for a measurement and speaks MCP on stdio.
type StdioProgram struct {
	Started time.Time
	in      io.Writer
	lines   chan stdioLine // closed when the program has closed stdout
	Changed time.Duration  // time of the last list_changed notification; 0 = none
}

// stdioLine is a line that was received. The field at is measured from the start of the program.
type stdioLine struct {
	text []byte
	at   time.Duration
}

func (p *StdioProgram) read(out io.Reader) {
	defer close(p.lines)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		p.lines <- stdioLine{text, time.Since(p.Started)}
	}
}

// note records the time of a list_changed notification.
func (p *StdioProgram) note(l stdioLine) {
	if bytes.Contains(l.text, []byte(`"notifications/tools/list_changed"`)) {
		p.Changed = l.at
	}
}

// Initialize initializes the session and returns the time of the response to initialize.
func (p *StdioProgram) Initialize() (time.Duration, error) {
	_, at, err := p.Request(1, "initialize", wire.InitializeParams)
	if err == nil {
		_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return at, err
}

// Request sends a request and returns the line of its response and the time when it was received.
func (p *StdioProgram) Request(id int, method, params string) ([]byte, time.Duration, error) {
	if _, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
		return nil, 0, fmt.Errorf("request %s: %w", method, err)
	}
	head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`, id)
	for l := range p.lines {
		if bytes.HasPrefix(l.text, head) {
			return l.text, l.at, nil
		}
		p.note(l)
	}
	return nil, 0, fmt.Errorf("the program ended without a response to %s", method)
}

// WaitChanged waits for a list_changed notification, for at most wait.
func (p *StdioProgram) WaitChanged(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for p.Changed == 0 {
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
