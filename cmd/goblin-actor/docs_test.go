package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"goblin-actor/internal/desktop"
)

// The snippets of docs/desktop.md are what install would write.
func TestSnippetsInTheDocs(t *testing.T) {
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
			t.Errorf("%s is not in the table", client.ID)
		}
	}
}
