package config

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"
)

// page is where the generated description of every key stands.
const page = "../../docs/config.md"

// row is one key on the page.
type row struct{ Key, Value, Meaning string }

// section is one table of the page.
type section struct {
	of           reflect.Type
	Title, Intro string
	Rows         []row
}

// TestPage holds docs/config.md against the comments in types.go; -update writes it.
func TestPage(t *testing.T) {
	got := renderPage(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got) {
		t.Errorf("docs/config.md is not what the comments in types.go say; go generate ./internal/config writes it")
	}
}

func renderPage(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/page.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New("page").Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	comments := fieldComments(t)
	var sections []section
	addSection(comments, &sections, reflect.TypeFor[Config](), "The gateway", "")
	var b bytes.Buffer
	err = tmpl.Execute(&b, map[string]any{"Sections": sections, "Later": strings.Join(laterSections, "`, `"),
		"MiB": maxFileBytes >> 20})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fieldComments maps Type and Type.Field to their comments in types.go.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	var decls []ast.Decl
	for _, name := range []string{"types.go", "types_identity.go", "types_limits.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, file.Decls...)
	}
	for _, decl := range decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		spec := general.Specs[0].(*ast.TypeSpec)
		comments[spec.Name.Name] = general.Doc.Text()
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for _, name := range f.Names {
				comments[spec.Name.Name+"."+name.Name] = f.Doc.Text()
			}
		}
	}
	return comments
}

// addSection appends the table of a struct and those of the structs in it.
func addSection(comments map[string]string, to *[]section, t reflect.Type, title, path string) {
	s := section{of: t, Title: title, Intro: meaning(t.Name(), firstParagraph(comments[t.Name()]))}
	at := len(*to)
	*to = append(*to, s)
	for _, f := range fieldsOf(t) {
		field := t.FieldByIndex(f.index)
		key := f.key
		if f.in != "" {
			key = f.in + "." + f.key
		}
		if f.also != "" {
			key = f.also + "`, `" + key
		}
		elem := field.Type
		for elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		(*to)[at].Rows = append((*to)[at].Rows, row{key, valueOf(f, field.Type), meaning(field.Name, comments[owner(t, f).Name()+"."+field.Name])})
		if elem.Kind() != reflect.Struct {
			continue
		}
		deeper := path + f.key
		switch field.Type {
		case reflect.TypeFor[[]Server](), reflect.TypeFor[[]Project](), reflect.TypeFor[[]Role]():
			deeper += ".<name>"
		}
		if !slices.ContainsFunc(*to, func(s section) bool { return s.of == elem }) {
			addSection(comments, to, elem, "`"+deeper+"`", deeper+".")
		}
	}
}

// owner is the struct in which the field stands: t, or one that is embedded in it.
func owner(t reflect.Type, f field) reflect.Type {
	for _, i := range f.index[:len(f.index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// valueOf says what may stand at a key.
func valueOf(f field, t reflect.Type) string {
	var kind string
	switch t {
	case reflect.TypeFor[time.Duration]():
		kind = "duration"
	case reflect.TypeFor[[]Server](), reflect.TypeFor[[]Project](), reflect.TypeFor[[]Role]():
		kind = "mapping of names"
	case reflect.TypeFor[[]ForwardHeader](), reflect.TypeFor[[]Binding]():
		kind = "list of mappings"
	case reflect.TypeFor[map[string]string]():
		kind = "mapping of texts"
	case reflect.TypeFor[[]string]():
		kind = "list of texts"
	case reflect.TypeFor[string]():
		kind = "text"
	case reflect.TypeFor[bool]():
		kind = "true, false"
	case reflect.TypeFor[int]():
		kind = "number"
	case reflect.TypeFor[int64]():
		kind = "size"
	default:
		kind = "mapping"
	}
	if f.oneof != nil {
		kind = "`" + strings.Join(f.oneof, "`, `") + "`"
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

// meaning is the comment as a cell of a table, without the name of the field in front.
func meaning(name, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = strings.TrimPrefix(text, name+" ")
	for _, verb := range []string{"is ", "are ", "holds "} {
		text = strings.TrimPrefix(text, verb)
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// Every key has a comment, and what it calls the default is the default.
func TestCommentsTellTheDefaults(t *testing.T) {
	comments := fieldComments(t)
	sentence := regexp.MustCompile("Default: `?([^,`;]*?)`?[.,;]( |$)")
	server := DefaultServer()
	check := func(v reflect.Value) {
		for _, f := range fieldsOf(v.Type()) {
			name := owner(v.Type(), f).Name() + "." + v.Type().FieldByIndex(f.index).Name
			comment := strings.Join(strings.Fields(comments[name]), " ")
			if comment == "" {
				t.Errorf("%s has no comment", name)
				continue
			}
			value := v.FieldByIndex(f.index)
			said := sentence.FindStringSubmatch(comment)
			switch {
			case value.Kind() == reflect.Struct:
				continue
			case said == nil:
				if !strings.Contains(comment, "Needed.") {
					t.Errorf("%s: no default in %q", name, comment)
				}
				continue
			case value.IsZero() && value.Kind() != reflect.Bool && !strings.HasPrefix(said[1], "0"):
				continue // none, or in words
			}
			want := (&shower{}).scalarOrList(value, f)
			if d, err := time.ParseDuration(said[1]); err == nil {
				said[1] = formatDuration(d)
			}
			if said[1] != want {
				t.Errorf("%s: the comment says %q, the default is %q", name, said[1], want)
			}
		}
	}
	check(reflect.ValueOf(Default()))
	check(reflect.ValueOf(server))
	for _, v := range []any{Limits{}, Queue{}, Tools{}, ServerTools{}, ServerInfo{}, Retry{}, Reconnect{}, Filter{}, ForwardHeader{}, Namespace{}, Resources{}, Project{}, Log{}, Auth{}, TLS{}, Policy{}, Role{}, Binding{}, Audit{}, Rotate{}, Egress{}, ServerAuth{}} {
		value := reflect.ValueOf(v)
		for _, outer := range []reflect.Value{reflect.ValueOf(Default()), reflect.ValueOf(server)} {
			for i := range outer.NumField() {
				if outer.Field(i).Type() == value.Type() {
					value = outer.Field(i)
				}
			}
		}
		check(value)
	}
}

// scalarOrList is a default as comments write it.
func (s *shower) scalarOrList(v reflect.Value, f field) string {
	if items, ok := v.Interface().([]string); ok {
		return strings.Join(items, " ")
	}
	return strings.Trim(s.scalar(v.Interface(), f, ""), `"`)
}
