package config

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"time"
)

// keySources are the files that declare the keys. Their comments are the reference, so they are embedded in the program.
//
//go:embed keys.go keys_server.go keys_limits.go keys_identity.go keys_telemetry.go keys_cluster.go
var keySources embed.FS

// Section documents the keys at one place of the file.
type Section struct {
	Title string // such as `mcpServers.<name>.queue`, in backquotes except for the first section
	Intro string
	Keys  []Key

	of reflect.Type
}

// Key documents one key.
type Key struct {
	Name    string // such as timeout or shutdown.drain; a key with a second spelling has both
	Value   string // values that the key takes: its type, words or bounds
	Default string
	Meaning string
}

// Reference returns the documentation of every key, and the names of the sections that are accepted without effect.
func Reference() (sections []Section, ignored []string) {
	r := &referenceWriter{comments: keyComments()}
	r.add(reflect.TypeFor[Config](), "The gateway", "")
	return r.sections, slices.Clone(laterSections)
}

// keyComments returns the comments of the types and fields that declare keys, by Type and by Type.Field.
func keyComments() map[string]string {
	comments := map[string]string{}
	files, err := keySources.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		source, err := keySources.ReadFile(file.Name())
		if err != nil {
			panic(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		for _, decl := range parsed.Decls {
			if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.TYPE {
				addComments(comments, general)
			}
		}
	}
	return comments
}

func addComments(comments map[string]string, decl *ast.GenDecl) {
	spec := decl.Specs[0].(*ast.TypeSpec)
	comments[spec.Name.Name] = decl.Doc.Text()
	for _, f := range spec.Type.(*ast.StructType).Fields.List {
		for _, name := range f.Names {
			comments[spec.Name.Name+"."+name.Name] = f.Doc.Text()
		}
	}
}

type referenceWriter struct {
	comments map[string]string
	sections []Section
}

// add appends the section for struct type t at path, and sections for the struct types of its fields that have none
// yet.
func (r *referenceWriter) add(t reflect.Type, title, path string) {
	at := len(r.sections)
	r.sections = append(r.sections, Section{Title: title, Intro: meaning(t.Name(), firstParagraph(r.comments[t.Name()])), of: t})
	for _, f := range fieldsOf(t) {
		r.sections[at].Keys = append(r.sections[at].Keys, r.key(t, f))
		elem := t.FieldByIndex(f.index).Type
		named := isNamed(elem)
		for elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		if elem.Kind() != reflect.Struct || slices.ContainsFunc(r.sections, func(s Section) bool { return s.of == elem }) {
			continue
		}
		deeper := path + f.key
		if named {
			deeper += ".<name>"
		}
		r.add(elem, "`"+deeper+"`", deeper+".")
	}
}

func (r *referenceWriter) key(t reflect.Type, f field) Key {
	name := f.key
	if f.in != "" {
		name = f.in + "." + name
	}
	if f.also != "" {
		name = f.also + "`, `" + name
	}
	text, byDefault := r.describe(t, f)
	return Key{Name: name, Value: valueOf(f, t.FieldByIndex(f.index).Type), Default: byDefault, Meaning: text}
}

// describe returns the meaning of a key and its default in words.
func (r *referenceWriter) describe(t reflect.Type, f field) (text, byDefault string) {
	field := t.FieldByIndex(f.index)
	text = meaning(field.Name, r.comments[owner(t, f).Name()+"."+field.Name])
	if before, ok := strings.CutSuffix(text, "Required."); ok {
		return strings.TrimSpace(before), "required"
	}
	if before, words, ok := strings.Cut(text, "Default: "); ok {
		return strings.TrimSpace(before), strings.TrimSuffix(words, ".")
	}
	switch {
	case f.byDefault != "":
		byDefault = "`" + f.byDefault + "`"
	case field.Type.Kind() == reflect.Bool:
		byDefault = "`false`"
	case field.Type.Kind() != reflect.Struct:
		byDefault = "none"
	}
	return text, byDefault
}

// owner returns the struct type that declares the field: t, or a type embedded in it.
func owner(t reflect.Type, f field) reflect.Type {
	for _, i := range f.index[:len(f.index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// isNamed reports whether a field of type t is written as a mapping from names to entries.
func isNamed(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[[]Server](), reflect.TypeFor[[]Project](), reflect.TypeFor[[]Role]():
		return true
	}
	return false
}

// valueOf describes the values that a key takes.
func valueOf(f field, t reflect.Type) string {
	kind := "mapping"
	switch {
	case f.oneof != nil:
		kind = "`" + strings.Join(f.oneof, "`, `") + "`"
	case isNamed(t):
		kind = "mapping of names"
	case t == reflect.TypeFor[time.Duration]():
		kind = "duration"
	case t == reflect.TypeFor[map[string]string]():
		kind = "mapping of strings"
	case t == reflect.TypeFor[[]string]():
		kind = "list of strings"
	case t.Kind() == reflect.Slice:
		kind = "list of mappings"
	case t.Kind() == reflect.String:
		kind = "string"
	case t.Kind() == reflect.Bool:
		kind = "`true`, `false`"
	case t.Kind() == reflect.Int:
		kind = "integer"
	case t.Kind() == reflect.Int64:
		kind = "size"
	}
	if f.single {
		kind = "string or " + kind
	}
	if f.min != "" {
		kind += fmt.Sprintf(", %s to %s", f.min, f.max)
	}
	if f.connection {
		kind += " ⟳"
	}
	return kind
}

func firstParagraph(comment string) string {
	first, _, _ := strings.Cut(comment, "\n\n")
	return first
}

// meaning turns the doc comment of name into a sentence without its subject.
func meaning(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = strings.TrimPrefix(text, name+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	if text != "" && text[0] != '`' {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
