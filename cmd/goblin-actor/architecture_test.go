package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileNamed matches the name of a Go file on a page. A name without a directory belongs to the directory of the
// previous name.
var fileNamed = regexp.MustCompile(`([a-z][a-zA-Z0-9_/-]*/)?([a-z0-9_]+\.go)\b`)

// TestDocsNameExistingFiles checks that the Go files that docs/architecture.md and docs/actors.md name exist.
func TestDocsNameExistingFiles(t *testing.T) {
	for _, page := range []string{"architecture.md", "actors.md"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		folder := ""
		for _, m := range fileNamed.FindAllStringSubmatch(string(raw), -1) {
			if m[1] != "" {
				folder = m[1]
			}
			if m[0] == "doc.go" || m[0] == "step.go" { // every actor package has these files
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", folder, m[2])); err != nil {
				t.Errorf("docs/%s names %s%s, which does not exist", page, folder, m[2])
			}
		}
	}
}

func TestArchitectureListsEveryPackage(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "\n## Packages\n")
	list, _, _ = strings.Cut(list, "\n## ")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z][a-z/-]*) `).FindAllStringSubmatch(list, -1) {
		listed[m[1]] = true
		if _, known := mayImport[m[1]]; !known {
			t.Errorf("docs/architecture.md lists the package %s, which is not in mayImport", m[1])
		}
	}
	for pkg := range mayImport {
		if !listed[pkg] {
			t.Errorf("docs/architecture.md does not list the package %s", pkg)
		}
	}
}
