package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goblin-actor/internal/desktop"
)

// The snippets in docs/desktop.md equal what config install writes.
func TestDesktopDocSnippets(t *testing.T) {
	page, err := os.ReadFile("../../docs/desktop.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range desktop.Clients {
		_, section, ok := strings.Cut(string(page), "### "+client.Title+"\n")
		_, snippet, found := strings.Cut(section, "```json\n")
		snippet, _, closed := strings.Cut(snippet, "```")
		if !ok || !found || !closed || !json.Valid([]byte(snippet)) {
			t.Errorf("no snippet for %s", client.Title)
			continue
		}
		ours := desktop.Ours{Command: "/usr/local/bin/goblin-actor", Args: []string{"stdio", "--config", "/home/me/goblin.yaml"}}
		if client.TakesURL() {
			ours = desktop.Ours{URL: "http://127.0.0.1:8730/mcp"}
		}
		if want := client.Snippet("goblin", ours); snippet != want {
			t.Errorf("%s: the page has\n%s\nwant\n%s", client.Title, snippet, want)
		}
		if !strings.Contains(string(page), "`"+client.ID+"`") {
			t.Errorf("%s is missing in the table", client.ID)
		}
	}
}

// Pages and pictures show the version of the first heading in the changelog.
func TestDocsShowOneVersion(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(changes)
	if heading == nil {
		t.Fatal("the changelog has no heading")
	}
	files := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/images/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	named := regexp.MustCompile(`goblin-actor v([0-9][0-9.]*)`)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range named.FindAllSubmatch(text, -1) {
			if count++; !bytes.Equal(version[1], heading[1]) {
				t.Errorf("%s shows %s, the changelog is at %s", file, version[1], heading[1])
			}
		}
	}
	if count == 0 {
		t.Error("no page shows a version")
	}
}
