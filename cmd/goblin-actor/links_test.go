package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	pageAnchor  = regexp.MustCompile(`<a id="([^"]+)"`)
	codeBlock   = regexp.MustCompile("(?ms)^```.*?^```")
)

// TestLinksInTheDocs checks that every relative link on a page leads to a file, and its fragment to a heading there.
func TestLinksInTheDocs(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "SECURITY.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "tests/*/*/README.md", "actors/*/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
				continue
			}
			if fragment != "" && !anchors(t, target)[fragment] {
				t.Errorf("%s links to %s, but that page has no such heading", page, m[1])
			}
		}
	}
}

// anchors returns the fragments that lead to a heading of the page, in the form that GitHub generates, or to an
// explicit anchor.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range pageAnchor.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = true
	}
	for _, m := range pageHeading.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return found
}
