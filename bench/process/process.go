package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Process is a child process that has printed its URL.
type Process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	URL    *url.URL
	Stderr *stderrTail
	Done   chan struct{} // closed when the process has ended
	Took   time.Duration // from its start until it had printed its URL
}

var urlPattern = regexp.MustCompile(`https?://[^\s"]+`)

// start starts a program and waits until it has printed a URL on stdout. env is added to the environment of this process.
func start(ctx context.Context, env []string, program string, args ...string) (*Process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	p := &Process{cmd: cmd, Stderr: &stderrTail{}, Done: make(chan struct{})}
	cmd.Stderr = p.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(p.Done)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if text := urlPattern.FindString(lines.Text()); text != "" {
				select {
				case found <- text:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	}()
	select {
	case text := <-found:
		p.Took = time.Since(began)
		p.URL, err = url.Parse(text)
	case <-p.Done:
		err = errors.New("the process ended")
	case <-time.After(30 * time.Second):
		err = errors.New("the process printed no URL within 30 s")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("start %s %v: %w\n%s", filepath.Base(program), args, err, p.Stderr)
	}
	return p, nil
}

// Stop closes the stdin of the process and sends SIGTERM, and kills it after 15 s, on Windows at once. It blocks until
// the process has ended.
func (p *Process) Stop() {
	_ = p.stdin.Close()
	if runtime.GOOS == "windows" || p.cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = p.cmd.Process.Kill()
	}
	select {
	case <-p.Done:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.Done
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Usage is the resource usage of a process. It is zero on systems without /proc, and after the process has ended.
type Usage struct {
	CPU time.Duration // user and system
	RSS int64         // resident bytes
	Own int64         // of these, bytes that are not pages of files, such as the program's
}

// Usage returns the resource usage of the process so far.
func (p *Process) Usage() Usage {
	var u Usage
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if text, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		// The name in parentheses may contain anything, so parsing starts after it. A tick is 10 ms on all supported
		// Linux systems.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 12 {
			user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
			system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
			u.CPU = time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	if text, err := os.ReadFile("/proc/" + pid + "/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 2 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			ofFiles, _ := strconv.ParseInt(string(fields[2]), 10, 64)
			u.RSS, u.Own = pages*int64(os.Getpagesize()), (pages-ofFiles)*int64(os.Getpagesize())
		}
	}
	return u
}

// stderrTail keeps the last 4 KiB that a process writes to stderr. It is safe for concurrent use.
type stderrTail struct {
	mu   sync.Mutex
	text []byte
}

func (l *stderrTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - 4096; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

func (l *stderrTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
