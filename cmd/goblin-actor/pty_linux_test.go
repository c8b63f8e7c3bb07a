package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/gatetest"
)

// pty is a pseudo-terminal. enter types text; Write collects the output of programs.
type pty struct {
	t    *testing.T
	main *os.File
	term *os.File // the end that programs use

	mu    sync.Mutex
	shown bytes.Buffer
	from  int           // offset in shown from which await searches
	more  chan struct{} // signals new output; capacity 1
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(main.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	term, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, main: main, term: term, more: make(chan struct{}, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(p, main) // returns an error once all copies of the other end are closed
	}()
	t.Cleanup(func() {
		term.Close()
		<-done
		main.Close()
	})
	return p
}

// Write collects output.
func (p *pty) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Write(b)
	select {
	case p.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// await waits until text is shown after the text of the previous await.
func (p *pty) await(text string) {
	p.t.Helper()
	limit := time.After(gatetest.Patience)
	for {
		p.mu.Lock()
		at := strings.Index(p.shown.String()[p.from:], text)
		if at >= 0 {
			p.from += at + len(text)
		}
		p.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatalf("%q was not shown; the terminal shows:\n%s", text, p.shown.String())
		}
	}
}

// rewind makes the next await search from the first output again.
func (p *pty) rewind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from = 0
}

// line waits until the line with the text of the previous await has ended, and returns the rest of the line.
func (p *pty) line() string {
	p.t.Helper()
	p.mu.Lock()
	from := p.from
	p.mu.Unlock()
	p.await("\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()[from:p.from]
}

func (p *pty) enter(text string) {
	p.t.Helper()
	if _, err := p.main.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the program with the terminal as stdin and stderr, with out as stdout, and without colors.
func (p *pty) start(out io.Writer, args ...string) *exec.Cmd {
	p.t.Helper()
	return p.startIn(out, []string{"NO_COLOR=1"}, args...)
}

// startIn is start with variables that are added to the environment.
func (p *pty) startIn(out io.Writer, environment []string, args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command(programPath(p.t), args...)
	cmd.Env = append(os.Environ(), "GOBLIN_CONFIG=", "GORACE=atexit_sleep_ms=20")
	cmd.Env = append(cmd.Env, environment...)
	cmd.Stdin, cmd.Stderr, cmd.Stdout = p.term, p.term, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// Colors are used only on terminals, and not with NO_COLOR or TERM=dumb.
func TestPalette(t *testing.T) {
	p := newPTY(t)
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := terminal.PaletteFor(p.term).Bad("x") != "x"; got != c.want {
			t.Errorf("NO_COLOR=%q TERM=%q: colors %v, want %v", c.noColor, c.term, got, c.want)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if terminal.PaletteFor(new(bytes.Buffer)).Bad("x") != "x" || terminal.PaletteFor(null).Bad("x") != "x" {
		t.Error("colors without a terminal")
	}
}
