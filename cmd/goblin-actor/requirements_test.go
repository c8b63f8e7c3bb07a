package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateRequirements = flag.Bool("update-requirements", false, "rewrite docs/requirements.md from the comments of tests")

const requirementsPage = "docs/requirements.md"

var (
	rowID   = regexp.MustCompile(`\bS[0-6]\.\d+(\.\d+)?\b`)
	rowLine = regexp.MustCompile(`^\| (S[0-6]\.\d+(?:\.\d+)?) \| ([^|]*) \|[^|]*\|[^|]*\|$`)
)

// docs/requirements.md lists for each row the tests whose comments name the row. No test names a row that does not exist.
func TestRequirementsTable(t *testing.T) {
	root := filepath.Join("..", "..")
	claims := claimedRows(t, root)
	old, err := os.ReadFile(filepath.Join(root, requirementsPage))
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	whole := wholeRows(string(old), claims)
	for line := range strings.Lines(string(old)) {
		line = strings.TrimSuffix(line, "\n")
		if row := rowLine.FindStringSubmatch(line); row != nil {
			state, tests := "open", "–"
			switch {
			case len(claims[row[1]]) > 0:
				state, tests = "tested", strings.Join(claims[row[1]], ", ")
			case whole[row[1]]:
				state, tests = "tested", "its scenarios"
			}
			line = fmt.Sprintf("| %s | %s | %s | %s |", row[1], row[2], state, tests)
			delete(claims, row[1])
		}
		page.WriteString(line + "\n")
	}
	for id, tests := range claims {
		t.Errorf("%v name row %s, which is not in %s", tests, id, requirementsPage)
	}
	if page.String() == string(old) {
		return
	}
	if *updateRequirements {
		if err := os.WriteFile(filepath.Join(root, requirementsPage), []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s differs from the comments of the tests; run make docs", requirementsPage)
}

// wholeRows returns the requirements whose scenarios are all claimed.
func wholeRows(page string, claims map[string][]string) map[string]bool {
	whole := map[string]bool{}
	for line := range strings.Lines(page) {
		row := rowLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if row == nil || strings.Count(row[1], ".") != 2 {
			continue
		}
		parent := row[1][:strings.LastIndexByte(row[1], '.')]
		so, seen := whole[parent]
		whole[parent] = (so || !seen) && len(claims[row[1]]) > 0
	}
	return whole
}

// claimedRows returns, by row, the tests whose comments name it, as `pkg.TestName`.
func claimedRows(t *testing.T, root string) map[string][]string {
	t.Helper()
	claims := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		claimsIn(file, filepath.ToSlash(pkg), claims)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tests := range claims {
		slices.Sort(tests)
	}
	return claims
}

// claimsIn adds the rows that one file names: ids in comments above or inside a test.
func claimsIn(file *ast.File, pkg string, claims map[string][]string) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		for _, group := range file.Comments {
			if group.Pos() < from || group.End() > f.End() {
				continue
			}
			for _, comment := range group.List {
				for _, id := range rowID.FindAllString(comment.Text, -1) {
					if name := pkg + "." + f.Name.Name; !slices.Contains(claims[id], name) {
						claims[id] = append(claims[id], name)
					}
				}
			}
		}
	}
}
