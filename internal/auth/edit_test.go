package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Add and Revoke sync the directory after the rename, so that the change survives a power failure.
func TestEditSyncsDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	var had []string // the file's content at each sync
	sync := syncFolder
	defer func() { syncFolder = sync }()
	syncFolder = func(folder string) error {
		text, err := os.ReadFile(path)
		if err != nil || folder != filepath.Dir(path) {
			t.Errorf("syncFolder(%s): %v; want the file's directory, and the file in it", folder, err)
		}
		had = append(had, string(text))
		return sync(folder)
	}
	_, sum := NewKey()
	if err := errors.Join(Add(path, Key{Name: "ci", Sum: sum}), Revoke(path, "ci")); err != nil {
		t.Fatal(err)
	}
	if len(had) != 2 || !strings.Contains(had[0], "ci:") || strings.Contains(had[1], "ci:") {
		t.Errorf("file contents at each sync: %q, want one with the key ci, then one without", had)
	}
	broken := errors.New("input/output error")
	syncFolder = func(string) error { return broken }
	if err := Add(path, Key{Name: "ci", Sum: sum}); !errors.Is(err, broken) {
		t.Errorf("Add with a failing sync: got %v, want the error of the disk", err)
	}
}
