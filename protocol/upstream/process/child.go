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

// shownPath is the maximum number of bytes of PATH in the error for a missing program.
const shownPath = 120

// processes holds the running programs of all links, for KillAll. The only other global state is the number of wide pipes.
var processes = struct {
	sync.Mutex
	running map[*child]struct{}
}{running: map[*child]struct{}{}}

// KillAll kills every running program of all links, with its descendants, and does not wait. Call it before the process exits
// without closing its links.
func KillAll() {
	processes.Lock()
	defer processes.Unlock()
	for c := range processes.running {
		c.group.kill()
	}
}

// child is a running program. Its goroutine keeps the OS thread that forked the program until the program ends,
// because Linux sends the parent-death signal when that thread ends.
type child struct {
	pid    int
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	group  group // ends the program with all its descendants

	exited  chan struct{}    // closed when the program has ended
	release chan struct{}    // closed when its pid is no longer needed
	reaped  chan struct{}    // closed when it is reaped
	state   *os.ProcessState // set before reaped
}

// startChild starts the program of o. Its errors are written for users.
func startChild(o Options) (*child, error) {
	if o.Dir != "" {
		if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("working directory %q does not exist or is not a directory", o.Dir)
		}
	}
	path, err := lookup(o.Command, o.Base, o.Dir, o.Env)
	if err != nil {
		return nil, err
	}
	called := o.Command
	if filepath.Base(called) != called {
		called = path // Python finds its virtual environment by this name
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{called}, o.Args...), Dir: o.Dir, Env: o.Env}
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would pass the gateway's own
	}
	c := &child{exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{})}
	theirs, err := c.pipes(cmd)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	go c.run(cmd, started)
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

// pipes creates the three pipes and returns the child's ends.
func (c *child) pipes(cmd *exec.Cmd) (theirs []*os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range all {
				_ = f.Close()
			}
			return nil, fmt.Errorf("create pipe: %w", err)
		}
		all = append(all, r, w)
	}
	c.stdin, c.stdout, c.stderr = all[1], all[2], all[4]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = all[0], all[3], all[5]
	return []*os.File{all[0], all[3], all[5]}, nil
}

// run starts the program and returns after it is reaped.
func (c *child) run(cmd *exec.Cmd, started chan<- error) {
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
		started <- fmt.Errorf("set up the process group: %w", err)
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
	delete(processes.running, c) // before its pid can be reused
	processes.Unlock()
	_ = cmd.Wait() // the exit code is in ProcessState
	c.state = cmd.ProcessState
	c.group.forget()
	close(c.reaped)
}

// terminate sends SIGTERM to the whole group (on Windows: CTRL_BREAK). Linux does not reuse the group's number before reap
// is called.
func (c *child) terminate() { c.group.terminate() }

// kill kills the whole group.
func (c *child) kill() { c.group.kill() }

// reap releases the program's pid and returns how it ended. It returns nil if the program has not ended despite the signals;
// then it is reaped later.
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

// lookup finds the file of command. A bare name is looked up on the PATH in env, the child's environment. A relative path is
// resolved against base, then against dir.
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
			continue // "" and "." mean the working directory, where other users may be able to place programs
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
	why := "no executable file at "
	for i, path := range tried {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return "", fmt.Errorf("%w: %s is not executable: permission denied", upstream.ErrProgramNotFound, secret.Text(path))
		}
		if i > 0 {
			why += " or "
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
