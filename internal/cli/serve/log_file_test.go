package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
)

// If it can be renamed, a log consists of at most two files, each no larger than the limit unless a single line is
// longer. Lines are never split.
func TestLogFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "work.log")
	l, err := openLogFile(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 29) + "\n"
	for range 10 {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{path: 1, path + ".1": 3} {
		text, err := os.ReadFile(name)
		if err != nil || string(text) != strings.Repeat(line, want) {
			t.Errorf("%s: %q, %v, want %d lines", name, text, err, want)
		}
	}
	if l, err = openLogFile(path, 100); err != nil {
		t.Fatal(err)
	}
	if l.written != int64(len(line)) {
		t.Errorf("opened again: %d bytes, want %d", l.written, len(line))
	}
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
}

// If the log cannot be renamed or opened, later lines are not lost: the log grows, contains a warning with the reason,
// and is renamed when that is possible again.
func TestLogFileThatCannotBeRenamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.log")
	if err := os.MkdirAll(filepath.Join(path+".1", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := openLogFile(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 99) + "\n"
	write := func(lines int) {
		t.Helper()
		for range lines {
			if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
	}
	write(12)
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), line) != 12 || strings.Count(string(text), "warning: the log grows beyond its limit because it cannot be renamed: ") != 2 {
		t.Errorf("%d lines of 12, %v:\n%s", strings.Count(string(text), line), err, text)
	}
	if err := os.RemoveAll(path + ".1"); err != nil {
		t.Fatal(err)
	}
	write(3)
	if text, err := os.ReadFile(path); err != nil || strings.ReplaceAll(string(text), line, "") != "" || len(text) >= 1000 {
		t.Errorf("after the rename: %d bytes, %v", len(text), err)
	}
	_ = l.file.Close()
	l.file = nil // as if it could not be opened
	write(1)
	if err := l.file.Close(); err != nil {
		t.Error(err)
	}
}

// The error of a command is in its log file, with the hint.
func TestErrorIsInTheLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "work.log")
	err := toLogFile(&cobra.Command{}, path, func() error { return command.Fail(command.ExitConfig, errors.New("broken"), "repair it") })
	if e, ok := errors.AsType[*command.Error](err); !ok || e.Code != command.ExitConfig || e.Err != nil {
		t.Errorf("got %v, want exit code %d without a message", err, command.ExitConfig)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "error: broken\nhint: repair it\n" {
		t.Errorf("the log has %q, %v", text, err)
	}
}
