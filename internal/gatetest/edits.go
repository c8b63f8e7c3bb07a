package gatetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Edit is one replacement in the source code of the module.
type Edit struct {
	// Path is a file, or a package directory. In a directory, Go files except tests are searched.
	Path string
	// Old holds the lines to replace. They must occur exactly once in Path. Indentation, blank lines and comments are
	// ignored.
	Old string
	// New holds the lines that replace Old.
	New string
}

var editForm = regexp.MustCompile(`(?s)\AFile: (\S+)\n-- old --\n(.*?)-- new --\n(.*?)(\nFile: .*|)\z`)

// ParseEdits parses one or more edits:
//
//	File: actors/pool
//	-- old --
//	lines to be replaced
//	-- new --
//	lines that replace them
func ParseEdits(text string) ([]Edit, error) {
	var edits []Edit
	for text != "" {
		m := editForm.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf(`expected "File: PATH", "-- old --", lines, "-- new --" and lines, got %.60q`, text)
		}
		edits = append(edits, Edit{Path: m[1], Old: m[2], New: m[3]})
		text = strings.TrimPrefix(m[4], "\n")
	}
	if len(edits) == 0 {
		return nil, errors.New("no edits")
	}
	return edits, nil
}

// Edited returns the new text of each file that the edits change, by its path below root. It writes no files.
func Edited(root string, edits []Edit) (map[string]string, error) {
	texts := map[string]string{}
	read := func(path string) (string, error) {
		if text, ok := texts[path]; ok {
			return text, nil
		}
		raw, err := os.ReadFile(path)
		return string(raw), err
	}
	for _, e := range edits {
		path, text, err := e.apply(root, read)
		if err != nil {
			return nil, err
		}
		texts[path] = text
	}
	return texts, nil
}

// apply returns the file that the edit changes, and its new text.
func (e *Edit) apply(root string, read func(path string) (string, error)) (path, text string, err error) {
	paths := []string{filepath.Join(root, e.Path)}
	if !strings.HasSuffix(e.Path, ".go") {
		if paths, err = filepath.Glob(filepath.Join(root, e.Path, "*.go")); err != nil {
			return "", "", err
		}
		paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasSuffix(p, "_test.go") })
	}
	old := codeLines(e.Old)
	if len(old) == 0 {
		return "", "", fmt.Errorf("%s: the old lines have no code", e.Path)
	}
	found := 0
	for _, p := range paths {
		before, err := read(p)
		if err != nil {
			return "", "", err
		}
		lines := codeLines(before)
		for i := range max(0, len(lines)-len(old)+1) {
			if slices.EqualFunc(lines[i:i+len(old)], old, func(a, b codeLine) bool { return a.code == b.code }) {
				found++
				path, text = p, before[:lines[i].start]+e.New+before[lines[i+len(old)-1].end:]
			}
		}
	}
	if found != 1 {
		return "", "", fmt.Errorf("the old lines occur %d times in %s, want once:\n%s", found, e.Path, e.Old)
	}
	return path, text, nil
}

// Mutate makes the edits in the copy of the module in dir. It returns a function that restores the files.
func Mutate(t *testing.T, dir string, edits []Edit) (restore func()) {
	t.Helper()
	texts, err := Edited(dir, edits)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for path, text := range texts {
		if before[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for path, text := range before {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Overlay writes an overlay file for the go command into dir: with GOFLAGS=-overlay=FILE it builds the module at root
// with the edits applied.
func Overlay(t *testing.T, root, dir string, edits []Edit) (file string) {
	t.Helper()
	texts, err := Edited(root, edits)
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for path, text := range texts {
		absolute, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		edited := filepath.Join(dir, fmt.Sprintf("edited%d.go", len(replace)))
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[absolute] = edited
	}
	table, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, table, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// codeLine is a line that is neither empty nor a comment.
type codeLine struct {
	code       string // without indentation and trailing comment
	start, end int    // offsets of the line in the text, line feed included
}

func codeLines(text string) []codeLine {
	var lines []codeLine
	at := 0
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(strings.TrimSpace(line), " // ")
		code = strings.Join(strings.Fields(code), " ") // gofmt aligns fields and comments
		if code != "" && !strings.HasPrefix(code, "//") {
			lines = append(lines, codeLine{code, at, at + len(line)})
		}
		at += len(line)
	}
	return lines
}
