package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every regression test named in docs/testing.md exists.
func TestRegressionTestsExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Regressions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	named := regexp.MustCompile(`\bTest\w+`).FindAllString(section, -1)
	if len(named) < 40 {
		t.Fatalf("the section Regressions names %d tests, want at least 40", len(named))
	}
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "node_modules":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range function.FindAllStringSubmatch(string(source), -1) {
			there[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if !there[name] {
			t.Errorf("docs/testing.md names %s, which does not exist", name)
		}
	}
}
