package gatetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Run runs a command in dir and fails the test if the command fails. Git repositories above dir are ignored.
func Run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if out, err := Try(dir, name, args...); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// Try is like Run, but returns the output and the error.
func Try(dir, name string, args ...string) (out []byte, err error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	return c.CombinedOutput()
}

// CopyModule copies the files of the module, except ignored ones such as build results.
func CopyModule(t *testing.T, from, to string) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	for path := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		raw, err := os.ReadFile(filepath.Join(from, string(path)))
		if err != nil {
			if _, gone := errors.AsType[*fs.PathError](err); gone {
				continue // deleted, or a dangling link
			}
			t.Fatal(err)
		}
		target := filepath.Join(to, string(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
