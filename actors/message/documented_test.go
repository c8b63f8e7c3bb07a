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

// Every message and whatever else is exported here has its sentence, which begins with its name; values that belong together
// may share one. Methods have none: Class, Lane, Key, Sum and Abandon are what the kernel's interfaces say.
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
		t.Fatalf("%d types were found: this does not look at the messages", len(p.Types))
	}
	values, functions := p.Consts, p.Funcs
	for _, kind := range p.Types {
		if words := strings.Fields(kind.Doc); !slices.Contains(words[:min(len(words), 2)], kind.Name) {
			t.Errorf("%s: want a sentence that begins with its name, not %q", kind.Name, kind.Doc)
		}
		values = append(values, kind.Consts...)
		functions = append(functions, kind.Funcs...)
	}
	for _, v := range values {
		if v.Doc == "" && slices.ContainsFunc(v.Names, ast.IsExported) {
			t.Errorf("%s: want a sentence, at least for all of them", strings.Join(v.Names, ", "))
		}
	}
	for _, f := range functions {
		if !strings.HasPrefix(f.Doc, f.Name+" ") {
			t.Errorf("%s: want a sentence that begins with its name, not %q", f.Name, f.Doc)
		}
	}
}
