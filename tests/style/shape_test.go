package style

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	mostLines  = 60 // of a function, comments and blank lines included
	mostFields = 20 // of an actor's state at one level
)

// goFiles parses the Go files that git tracks, except tests and test data.
func goFiles(t *testing.T) (files map[string]*ast.File, positions *token.FileSet) {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--", "*.go")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	files, positions = map[string]*ast.File{}, token.NewFileSet()
	for path := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") || isPending(path) {
			continue
		}
		file, err := parser.ParseFile(positions, filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
	}
	return files, positions
}

// Functions stay short enough to be checked by eye, and an actor's state is made of parts.
func TestSizes(t *testing.T) {
	files, positions := goFiles(t)
	for path, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := positions.Position(n.End()).Line - positions.Position(n.Pos()).Line + 1; lines > mostLines {
					t.Errorf("%s: function %s has %d lines; at most %d", path, n.Name.Name, lines, mostLines)
				}
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				if !ok || !strings.HasPrefix(path, "actors/") || !strings.HasSuffix(strings.ToLower(n.Name.Name), "state") {
					return true
				}
				if fields := s.Fields.NumFields(); fields > mostFields {
					t.Errorf("%s: %s has %d fields; at most %d: group those that belong together", path, n.Name.Name, fields, mostFields)
				}
			}
			return true
		})
	}
}

// Every exported name has a doc comment. Methods of well-known interfaces are exempt: their interface documents them.
func TestExportedNamesAreDocumented(t *testing.T) {
	files, positions := goFiles(t)
	for path, file := range files {
		if file.Name.Name == "main" {
			continue
		}
		report := func(name *ast.Ident, docs ...*ast.CommentGroup) {
			for _, doc := range docs {
				if doc != nil {
					return
				}
			}
			if name.IsExported() {
				t.Errorf("%s:%d: %s has no doc comment", path, positions.Position(name.Pos()).Line, name.Name)
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiverIsExported(d.Recv) && !slices.Contains(wellKnown, d.Name.Name) {
					report(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						report(s.Name, d.Doc, s.Doc, s.Comment)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							report(name, d.Doc, s.Doc, s.Comment)
						}
					}
				}
			}
		}
	}
}

// wellKnown are the methods of error, fmt.Stringer, and the kernel's classes and lanes of messages.
var wellKnown = []string{"Error", "Unwrap", "String", "Class", "Lane"}

func receiverIsExported(receiver *ast.FieldList) bool {
	t := receiver.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}
