package message

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every exported type and function has a doc comment that begins with its name, for types also after an article. Values
// declared together may share a doc comment. Methods need none: Class, Lane, Key, Sum and Abandon implement interfaces of
// the kernel.
func TestMessagesAreDocumented(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), []*ast.File(nil)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(set, files, "message")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Types) < 50 {
		t.Fatalf("%d types found; the test does not see the messages", len(p.Types))
	}
	values, functions := p.Consts, p.Funcs
	for _, kind := range p.Types {
		if words := strings.Fields(kind.Doc); !slices.Contains(words[:min(len(words), 2)], kind.Name) {
			t.Errorf("%s: doc comment %[2]q, want one that begins with the name", kind.Name, kind.Doc)
		}
		values = append(values, kind.Consts...)
		functions = append(functions, kind.Funcs...)
	}
	for _, v := range values {
		if v.Doc == "" && slices.ContainsFunc(v.Names, ast.IsExported) {
			t.Errorf("%s: no doc comment", strings.Join(v.Names, ", "))
		}
	}
	for _, f := range functions {
		if !strings.HasPrefix(f.Doc, f.Name+" ") {
			t.Errorf("%s: doc comment %[2]q, want one that begins with the name", f.Name, f.Doc)
		}
	}
}
