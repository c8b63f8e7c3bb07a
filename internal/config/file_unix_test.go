//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHardLinks checks that all hard links of a replaced file have the new text, and that the backup has the old text.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, path, "a long text\n", 0o640)
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	backup, err := f.Replace("short\n", true)
	if err != nil {
		t.Fatal(err)
	}
	one, errA := os.Stat(path)
	two, errB := os.Stat(other)
	if errA != nil || errB != nil || !os.SameFile(one, two) || read(t, other) != "short\n" || read(t, backup) != "a long text\n" || one.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v; the other link has %q, the backup %q, mode %v; want one file with the new text and mode 0640", errA, errB, read(t, other), read(t, backup), one.Mode())
	}
	left, err := filepath.Glob(filepath.Join(dir, ".goblin-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

// TestPipes checks that a pipe is read like a file, with a time limit.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // the writer opens the pipe after the reader
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = w.WriteString("listen: 127.0.0.1:1\n")
			w.Close()
		}
		done <- err
	}()
	cfg, report := Load(path)
	if err := <-done; err != nil || cfg == nil || cfg.Listen[0] != "127.0.0.1:1" {
		t.Errorf("Load from a pipe: %v, %v; writing to it: %v", cfg, report.Err(), err)
	}
	loaded := make(chan Report, 1)
	go func() {
		_, report := Load(path)
		loaded <- report
	}()
	select {
	case report := <-loaded:
		if err := report.Err(); err == nil || !strings.Contains(err.Error(), "the pipe was not written") {
			t.Errorf("Load from a pipe without a writer: %v, want an error", err)
		}
	case <-time.After(3 * pipeTime):
		t.Error("Load did not return")
	}
}
