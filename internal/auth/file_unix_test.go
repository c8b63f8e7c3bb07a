//go:build unix

package auth

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe in the place of the key file is refused: nobody waits for who might write to it.
func TestPipeIsNoKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, errNotRegular) {
		t.Errorf("Load: %v", err)
	}
}
