package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
)

// maxLogFile is the maximum size of a log file in bytes. Before a write that would exceed it, a new file is started.
const maxLogFile = 10 << 20

// logFile is a log in a file, for service managers that keep no logs. If a write would exceed the limit, the file is
// first renamed to PATH.1, which replaces the previous PATH.1. If that fails, the file grows, and the rename is tried
// again each time the file has grown by a tenth of the limit. Write is safe for concurrent use.
type logFile struct {
	path  string
	limit int64

	mu      sync.Mutex
	file    *os.File // nil if it could not be opened again
	written int64    // size of the file in bytes
	failed  int64    // size of the file at the last failed rename; 0 = the last rename succeeded, or there was none
}

// openLogFile opens the log and appends to it.
func openLogFile(path string, limit int64) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &logFile{path: path, limit: limit}
	return l, l.open()
}

// open opens the file. The runtime also prints the reason of a crash to it.
func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.written = file, info.Size()
	return debug.SetCrashOutput(file, debug.CrashOptions{})
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.limit
	if l.failed > 0 {
		limit = l.failed + l.limit/10
	}
	if l.file == nil || l.written > 0 && l.written+int64(len(p)) > limit {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	return n, err
}

// rotate replaces the file by an empty one, or opens it again if it cannot be renamed. An error means that no file is open. The caller
// must hold mu.
func (l *logFile) rotate() error {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // closes its copy of the file, which Windows could not rename
	_ = l.file.Close()
	l.file, l.failed = nil, 0
	renamed := os.Rename(l.path, l.path+".1")
	if err := l.open(); l.file == nil {
		return err
	}
	if l.written > 0 {
		n, _ := fmt.Fprintf(l.file, "warning: the log grows beyond its limit because it cannot be renamed: %v\n", renamed)
		l.written += int64(n)
		l.failed = l.written
	}
	return nil
}

// toLogFile runs a command with the file at path in place of stderr. The file also receives the error that the command
// returns. If path is empty, toLogFile only runs the command.
func toLogFile(cmd *cobra.Command, path string, run func() error) error {
	if path == "" {
		return run()
	}
	l, err := openLogFile(path, maxLogFile)
	if err != nil {
		return command.Fail(command.ExitFailed, fmt.Errorf("open the log: %w", err), "choose another file with --log-file")
	}
	cmd.SetErr(l)
	err = run()
	if code := command.PrintError(l, err); code != command.ExitOK {
		err = &command.Error{Code: code}
	}
	return errors.Join(err, l.file.Close())
}
