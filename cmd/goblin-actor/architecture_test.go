package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileNamed is a Go file on a page; one without a folder stands in that of the file named before it.
var fileNamed = regexp.MustCompile(`([a-z][a-zA-Z0-9_/-]*/)?([a-z0-9_]+\.go)\b`)

// The pages that say where things are name files that exist, and the list of rooms is the table's.
func TestPagesNameWhatExists(t *testing.T) {
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
			if m[0] == "doc.go" || m[0] == "step.go" { // of every actor
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", folder, m[2])); err != nil {
				t.Errorf("docs/%s names %s%s, which does not exist", page, folder, m[2])
			}
		}
	}
}

func TestThePageListsEveryRoom(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(raw), "\n## Rooms\n")
	list, _, _ = strings.Cut(list, "\n## ")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z][a-z/-]*) `).FindAllStringSubmatch(list, -1) {
		listed[m[1]] = true
		if _, known := mayImport[m[1]]; !known {
			t.Errorf("docs/architecture.md lists the room %s, which is not in mayImport", m[1])
		}
	}
	for room := range mayImport {
		if !listed[room] {
			t.Errorf("docs/architecture.md does not list the room %s", room)
		}
	}
}
