package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite expected files")

// environ returns a lookup function for lines of NAME=value.
func environ(lines string) func(string) (string, bool) {
	vars := map[string]string{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		vars[name] = value
	}
	return func(name string) (string, bool) { value, ok := vars[name]; return value, ok }
}

// render formats a report like config check.
func render(r Report) string {
	var b strings.Builder
	for _, list := range []struct {
		word     string
		findings []*Finding
	}{{"error", r.Faults}, {"warning", r.Warnings}} {
		for _, f := range list.findings {
			fmt.Fprintf(&b, "%s: %v\n", list.word, f)
			if f.Hint != "" {
				fmt.Fprintf(&b, "hint: %s\n", f.Hint)
			}
		}
	}
	return b.String()
}

// TestReports runs the archives of testdata/report: a file, optional variables, and the expected report.
func TestReports(t *testing.T) {
	archives, _ := filepath.Glob("testdata/report/*.txtar")
	if len(archives) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var file, want *txtar.File
			var env string
			for i := range archive.Files {
				switch f := &archive.Files[i]; f.Name {
				case "env":
					env = string(f.Data)
				case "want":
					want = f
				default:
					file = f
				}
			}
			cfg, report := Parse(file.Name, file.Data, environ(env))
			if (cfg == nil) != (report.Err() != nil) {
				t.Errorf("Config %v with errors %v", cfg, report.Err())
			}
			got := render(report)
			if strings.Contains(got, "hunter2") {
				t.Errorf("the report shows a secret:\n%s", got)
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(want.Data, []byte(got)) {
				t.Errorf("%s\ngot:\n%s\nwant:\n%s", path, got, want.Data)
			}
		})
	}
}
