//go:build unix

package auth

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A key file that has become a pipe is refused like any other that is no file, and nobody waits for who writes into it: keys expire meanwhile.
func TestKeyFileIsAPipe(t *testing.T) {
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
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}
