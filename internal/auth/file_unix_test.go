//go:build unix

package auth

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

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
