//go:build unix

package auth

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A file that root gave to the group of the program may be read by the group, but not written, and not read by others.
func TestSharedWith(t *testing.T) {
	for _, c := range []struct {
		mode    fs.FileMode
		granted bool
		want    bool
	}{
		{0o600, false, false}, {0o400, false, false}, {0o640, false, true}, {0o604, false, true},
		{0o440, true, false}, {0o640, true, false}, {0o460, true, true}, {0o450, true, true}, {0o444, true, true}, {0o442, true, true},
	} {
		if got := sharedWith(c.mode, c.granted); got != c.want {
			t.Errorf("mode %04o, granted %t: got %t", c.mode, c.granted, got)
		}
	}
}

// A key file that is a named pipe is refused. Load must not block on opening it, because it runs in a gateway that
// also has to expire keys.
func TestLoadRefusesNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded := make(chan error, 1)
	go func() {
		_, err := Load(path)
		loaded <- err
	}()
	select {
	case err := <-loaded:
		if !errors.Is(err, errNotRegular) {
			t.Errorf("Load of a named pipe: got %v, want errNotRegular", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Load of a named pipe blocks")
	}
}
