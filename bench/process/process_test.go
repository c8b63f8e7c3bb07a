package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that ends without printing a URL is an error that shows what it said.
func TestStartTellsWhatTheProgramSaid(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t.Context(), nil, self, "-nonsense"); err == nil || !strings.Contains(err.Error(), "not defined: -nonsense") {
		t.Errorf("got %v", err)
	}
	if _, err := start(t.Context(), nil, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a program that does not exist was started")
	}
}
