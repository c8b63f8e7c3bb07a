package style

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Text is a piece of prose and its location.
type Text struct {
	Path string // from the root of the module
	Line int    // of its first line
	Kind Kind
	Text string
}

// Kind is the kind of source that a piece of prose comes from.
type Kind string

// The kinds.
const (
	Comment   Kind = "comment"   // a comment group of a Go file
	String    Kind = "string"    // a string literal of a Go file with at least three words
	Paragraph Kind = "paragraph" // of a Markdown page, without code blocks
)

// Extract returns the prose of the files below root that git tracks, without test data and without directives for linters and the compiler.
func Extract(root string) ([]Text, error) {
	list := exec.Command("git", "ls-files", "-z", "--", "*.go", "*.md")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	var all []Text
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.Contains(path, "testdata/") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		var texts []Text
		if strings.HasSuffix(path, ".md") {
			texts = paragraphs(string(raw))
		} else if texts, err = goTexts(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, t := range texts {
			t.Path = path
			all = append(all, t)
		}
	}
	return all, nil
}

// goTexts returns the comments and strings of a Go file.
func goTexts(source []byte) ([]Text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var texts []Text
	for _, group := range file.Comments {
		if text := strings.TrimSpace(group.Text()); text != "" && !strings.HasPrefix(text, "Code generated") {
			texts = append(texts, Text{Line: files.Position(group.Pos()).Line, Kind: Comment, Text: text})
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // a tag is not prose
			if n.Tag != nil {
				ast.Inspect(n.Type, visit)
				return false
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return false
			}
			if text, err := strconv.Unquote(n.Value); err == nil && isProse(text) {
				texts = append(texts, Text{Line: files.Position(n.Pos()).Line, Kind: String, Text: text})
			}
		}
		return true
	}
	ast.Inspect(file, visit)
	return texts, nil
}

var (
	word = regexp.MustCompile(`(?:^|[\s("'])[A-Za-z][a-z']+`)
	data = regexp.MustCompile(`[{\[]\s*"|":|^\s*<`)
)

// isProse reports whether a string literal or paragraph is text for people rather than JSON, a header or a table format.
func isProse(s string) bool {
	return len(word.FindAllString(s, 3)) == 3 && !data.MatchString(s)
}

// paragraphs returns the paragraphs, list items and table rows of a Markdown page.
func paragraphs(page string) []Text {
	var texts []Text
	var lines []string
	start, code, line := 0, false, 0
	flush := func() {
		if text := strings.Join(lines, "\n"); isProse(text) {
			texts = append(texts, Text{Line: start, Kind: Paragraph, Text: text})
		}
		lines = nil
	}
	for l := range strings.Lines(page) {
		line++
		l = strings.TrimRight(l, "\n")
		trimmed := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			flush()
			code = !code
			continue
		case code || strings.HasPrefix(l, "    ") && len(lines) == 0:
			continue
		case trimmed == "" || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "- ") || strings.HasPrefix(trimmed, "#"):
			flush()
		}
		if trimmed != "" {
			if len(lines) == 0 {
				start = line
			}
			lines = append(lines, trimmed)
		}
	}
	flush()
	return texts
}
