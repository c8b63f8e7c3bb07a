package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream"
)

// shownPath is how much of PATH the error of a missing program tells.
const shownPath = 120

// processes are the programs that run. All links share it, for KillAll alone, and beside it only the count of wide pipes.
var processes = struct {
	sync.Mutex
	running map[*child]struct{}
}{running: map[*child]struct{}{}}

// KillAll ends every program started here and not yet reaped, with all its descendants, at once. It is for a process
// that is about to exit without having closed its links; it does not wait.
func KillAll() {
	processes.Lock()
	defer processes.Unlock()
	for c := range processes.running {
		c.group.kill()
	}
}

// child is a running program. Its goroutine keeps the OS thread it was forked from until it ends:
// the parent-death signal of Linux comes when that thread dies, not when we do.
type child struct {
	pid    int
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	group  group // the platform's way to end it with all its descendants

	exited  chan struct{}    // closed when the program has ended
	release chan struct{}    // closed when its pid is no longer needed
	reaped  chan struct{}    // closed when the kernel has forgotten it
	state   *os.ProcessState // set before reaped
}

// startChild runs the program of o and returns once it runs. Its errors say what a person can act on.
func startChild(o Options) (*child, error) {
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("working directory %q does not exist", o.Dir)
		}
	}
	path, err := lookup(o.Command, o.Base, o.Dir, o.Env)
	if err != nil {
		return nil, err
	}
	called := o.Command
	if filepath.Base(called) != called {
		called = path // Python finds its environment by this name, relative to where it runs
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{called}, o.Args...), Dir: o.Dir, Env: o.Env}
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean our own
	}
	c := &child{exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{})}
	theirs, err := c.pipes(cmd)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	go c.hold(cmd, started)
	err = <-started
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		_ = c.stdin.Close()
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		return nil, err
	}
	return c, nil
}

// pipes makes the three pipes and returns the child's ends.
func (c *child) pipes(cmd *exec.Cmd) (theirs []*os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range all {
				_ = f.Close()
			}
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		all = append(all, r, w)
	}
	c.stdin, c.stdout, c.stderr = all[1], all[2], all[4]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = all[0], all[3], all[5]
	return []*os.File{all[0], all[3], all[5]}, nil
}

// hold starts the program and lives as long as it does.
func (c *child) hold(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	c.pid = cmd.Process.Pid
	if err := c.group.adopt(cmd.Process); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		started <- fmt.Errorf("take charge of the process: %w", err)
		return
	}
	processes.Lock()
	processes.running[c] = struct{}{}
	processes.Unlock()
	started <- nil
	c.group.await(cmd)
	close(c.exited)
	<-c.release
	processes.Lock()
	delete(processes.running, c) // before its pid can be another's
	processes.Unlock()
	_ = cmd.Wait() // the exit code is in the state
	c.state = cmd.ProcessState
	c.group.forget()
	close(c.reaped)
}

// terminate asks the whole group to end; on Linux as long as reap was not called no stranger can have its number.
func (c *child) terminate() { c.group.terminate() }

// kill ends the whole group.
func (c *child) kill() { c.group.kill() }

// reap frees the program's pid and returns how it ended; nil if it has not, in spite of all signals:
// then it is reaped when it does.
func (c *child) reap() *os.ProcessState {
	close(c.release)
	select {
	case <-c.exited:
		<-c.reaped
		return c.state
	default:
		return nil
	}
}

// lookup finds the file of command: a bare name on the PATH of env, the child's; a relative path in base, then as a shell
// in directory dir would.
func lookup(command, base, dir string, env []string) (string, error) {
	if command == "" {
		return "", fmt.Errorf("%w: no command given", upstream.ErrProgramNotFound)
	}
	if filepath.Base(command) != command {
		return lookupPath(command, base, dir, env)
	}
	list := envValue(env, "PATH")
	for _, folder := range filepath.SplitList(list) {
		if !filepath.IsAbs(folder) {
			continue // "" and "." are the working directory: whoever can write there would choose the program
		}
		if file, found := executable(filepath.Join(folder, command), env); found {
			return file, nil
		}
	}
	if len(list) > shownPath {
		list = list[:shownPath] + "…"
	}
	return "", fmt.Errorf("%w on PATH (%s)", upstream.ErrProgramNotFound, list)
}

// lookupPath finds the file of a command that is a path.
func lookupPath(command, base, dir string, env []string) (string, error) {
	candidates := []string{command}
	if !filepath.IsAbs(command) {
		candidates = []string{filepath.Join(dir, command)}
		if base != "" {
			candidates = []string{filepath.Join(base, command), candidates[0]}
		}
	}
	var tried []string
	for _, candidate := range candidates {
		path, err := filepath.Abs(candidate)
		if err != nil {
			return "", err
		}
		if slices.Contains(tried, path) {
			continue
		}
		if file, found := executable(path, env); found {
			return file, nil
		}
		tried = append(tried, path)
	}
	why := "no executable file "
	for i, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return "", fmt.Errorf("%w: %s may not be run: permission denied", upstream.ErrProgramNotFound, secret.Text(path))
		}
		if i > 0 {
			why += ", nor "
		}
		why += secret.Text(path)
	}
	return "", fmt.Errorf("%w: %s", upstream.ErrProgramNotFound, why)
}

// envValue returns the last value of a variable, as the child would see it.
func envValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if key, value, found := cutEnv(env[i]); found && sameEnv(key, name) {
			return value
		}
	}
	return ""
}
