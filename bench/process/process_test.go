package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error for a program that ends without printing a URL contains its stderr.
func TestStartErrorContainsStderr(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), nil, self, "-nonsense"); err == nil || !strings.Contains(err.Error(), "not defined: -nonsense") {
		t.Errorf("got %v", err)
	}
	if _, err := start(t.Context(), nil, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("started a program that does not exist")
	}
}
