package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key that was made or revoked stays so when the power fails: the folder, which has the file's name, is synced after the rename.
func TestTheFolderIsSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	var had []string // what the file held when its folder was synced
	sync := syncFolder
	defer func() { syncFolder = sync }()
	syncFolder = func(folder string) error {
		text, err := os.ReadFile(path)
		if err != nil || folder != filepath.Dir(path) {
			t.Errorf("%s is synced: %v", folder, err)
		}
		had = append(had, string(text))
		return sync(folder)
	}
	_, sum := NewKey()
	if err := errors.Join(Add(path, Key{Name: "ci", Sum: sum}), Revoke(path, "ci")); err != nil {
		t.Fatal(err)
	}
	if len(had) != 2 || !strings.Contains(had[0], "ci:") || strings.Contains(had[1], "ci:") {
		t.Errorf("synced with %q", had)
	}
	broken := errors.New("input/output error")
	syncFolder = func(string) error { return broken }
	if err := Add(path, Key{Name: "ci", Sum: sum}); !errors.Is(err, broken) {
		t.Errorf("a fault of the disk is not told: %v", err)
	}
}
