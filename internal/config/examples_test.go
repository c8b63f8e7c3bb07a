package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples checks that the example files load without warnings, next to the files that they tell the reader to create.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d example files, error %v", len(files), err)
	}
	dir := t.TempDir()
	err = errors.Join(os.WriteFile(filepath.Join(dir, "cluster.secret"), []byte(strings.Repeat("s", 43)), 0o600), os.WriteFile(filepath.Join(dir, "keys.yaml"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		copied := filepath.Join(dir, filepath.Base(file))
		if err := errors.Join(err, os.WriteFile(copied, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if c, report := Load(copied); c == nil || len(report.Warnings) > 0 {
			t.Errorf("%s: errors %v, warnings %v; want none", file, report.Faults, report.Warnings)
		}
	}
}
