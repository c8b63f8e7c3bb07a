package config

import (
	"path/filepath"
	"testing"
)

// TestExamples checks that the example files load without warnings.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../docs/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if c, report := Load(file); c == nil || len(report.Warnings) > 0 {
			t.Errorf("%s: %v %v", file, report.Faults, report.Warnings)
		}
	}
}
