package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

type object = map[string]any

// TestSchema holds schema.json against types.go; -update writes it.
func TestSchema(t *testing.T) {
	g := &schemaWriter{comments: fieldComments(t), defs: object{}}
	root := g.object(reflect.TypeFor[Config]())
	properties := root["properties"].(object)
	properties["$schema"] = object{"type": "string"}
	for _, key := range foreignKeys[""] {
		properties[key] = true
	}
	for _, key := range laterSections {
		properties[key] = object{"description": "Accepted, not yet in force."}
	}
	whole := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "goblin-actor", "$defs": g.defs}
	for key, value := range root {
		whole[key] = value
	}
	var got bytes.Buffer
	encoder := json.NewEncoder(&got)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(whole); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(bytes.ReplaceAll(Schema(), []byte("\r\n"), []byte("\n")), got.Bytes()) {
		t.Errorf("schema.json is not what types.go says; go generate ./internal/config writes it")
	}
}

// schemaWriter makes schemas of struct types; each is written once, under $defs.
type schemaWriter struct {
	comments map[string]string
	defs     object
}

// variableText is what a text with a variable in it looks like; it may stand for any scalar.
var variableText = object{"type": "string", "pattern": `\$\{`}

func (g *schemaWriter) object(t reflect.Type) object {
	properties := object{}
	sections := map[string]object{}
	for _, f := range fieldsOf(t) {
		field := t.FieldByIndex(f.index)
		to := properties
		if f.in != "" {
			if sections[f.in] == nil {
				sections[f.in] = object{}
				properties[f.in] = closed(sections[f.in])
			}
			to = sections[f.in]
		}
		value := g.value(f, field.Type)
		value["description"] = meaning(field.Name, g.comments[t.Name()+"."+field.Name])
		to[f.key] = value
		if f.also != "" {
			to[f.also] = object{"description": value["description"], "type": scalarTypes}
		}
	}
	o := closed(properties)
	o["description"] = meaning(t.Name(), firstParagraph(g.comments[t.Name()]))
	return o
}

// closed is a mapping that takes these keys only. A key without value is like no key.
func closed(properties object) object {
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// scalarTypes are all that a text may be written as.
var scalarTypes = []string{"string", "number", "boolean", "null"}

func (g *schemaWriter) ref(t reflect.Type) object {
	if g.defs[t.Name()] == nil {
		g.defs[t.Name()] = object{}
		o := g.object(t)
		if t == reflect.TypeFor[Server]() {
			for _, key := range foreignKeys["mcpServers"] {
				o["properties"].(object)[key] = true
			}
			o["anyOf"] = []object{{"required": []string{"command"}}, {"required": []string{"url"}}, {"required": []string{"urls"}}, {"required": []string{"<<"}}, {"type": "null"}}
			o["properties"].(object)["<<"] = true
		}
		if t == reflect.TypeFor[TLS]() {
			o = object{"anyOf": []object{o, {"enum": []any{"off", false}}}}
		}
		g.defs[t.Name()] = o
	}
	return object{"$ref": "#/$defs/" + t.Name()}
}

func (g *schemaWriter) value(f field, t reflect.Type) object {
	switch t {
	case reflect.TypeFor[[]Server](), reflect.TypeFor[[]Project](), reflect.TypeFor[[]Role]():
		names := object{"minLength": 1}
		if t == reflect.TypeFor[[]Server]() {
			names["not"] = object{"const": ownName}
		}
		return object{"type": []string{"object", "null"}, "propertyNames": names, "additionalProperties": g.ref(t.Elem())}
	case reflect.TypeFor[[]ForwardHeader](), reflect.TypeFor[[]Binding]():
		return object{"type": []string{"array", "null"}, "items": g.ref(t.Elem())}
	case reflect.TypeFor[map[string]string]():
		return object{"type": []string{"object", "null"}, "additionalProperties": object{"type": scalarTypes}}
	case reflect.TypeFor[[]string]():
		if f.single {
			return object{"type": append([]string{"array"}, scalarTypes...), "items": object{"type": scalarTypes}}
		}
		return object{"type": []string{"array", "null"}, "items": object{"type": scalarTypes}}
	case reflect.TypeFor[string]():
		if f.oneof == nil {
			return object{"type": scalarTypes}
		}
		return object{"anyOf": []object{{"enum": wordsOf(f)}, variableText, {"type": "null"}}}
	case reflect.TypeFor[bool]():
		return object{"anyOf": []object{{"type": []string{"boolean", "null"}}, variableText}}
	case reflect.TypeFor[int]():
		return object{"anyOf": []object{{"type": "integer", "minimum": json.Number(f.min), "maximum": json.Number(f.max)}, variableText, {"type": "null"}}}
	case reflect.TypeFor[int64]():
		return object{"anyOf": []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]+ *([KMGT]iB|[kKMGT]?B)?$`}, variableText, {"type": "null"}}}
	case reflect.TypeFor[time.Duration]():
		return object{"anyOf": []object{{"const": 0}, {"type": "string", "pattern": `^(0|([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+)$`}, variableText, {"type": "null"}}}
	}
	return g.ref(t)
}

// wordsOf are the words of a field, with the spellings other programs use.
func wordsOf(f field) []any {
	var all []any
	for _, word := range f.oneof {
		if word == "true" || word == "false" {
			all = append(all, word == "true")
		}
		all = append(all, word)
	}
	for _, other := range slices.Sorted(func(yield func(string) bool) {
		for other, ours := range spellings {
			if slices.Contains(f.oneof, ours) && !yield(other) {
				return
			}
		}
	}) {
		all = append(all, other)
	}
	return all
}

// The schema takes what Parse takes and refuses what an editor should underline.
func TestSchemaAgreesWithParse(t *testing.T) {
	schema := compileSchema(t)
	page, err := os.ReadFile("testdata/page.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]string{"full.yaml": string(full), "empty server": "mcpServers:\n"}
	for i, example := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		good["docs/config.md "+string(rune('1'+i))] = example[1]
	}
	archives, _ := filepath.Glob("testdata/edit/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if _, report := Parse("f.yaml", file.Data, environ("")); file.Name == "want" && report.Err() == nil {
				good[path+" "+strings.Split(string(file.Data), "\n")[0]] = string(file.Data)
			}
		}
	}
	for name, text := range good {
		if err := schema.Validate(plain(treeOf(text))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"mcpServer: {}", "mcpServers: []", "mcpServers: {a: {comand: x}}", "mcpServers: {a: {}}", "mcpServers: {goblin: {command: x}}",
		"mcpServers: {a: {command: x, timeout: 30}}", "mcpServers: {a: {command: x, timeout: 30 s}}", "mcpServers: {a: {command: x, replicas: 0}}",
		"mcpServers: {a: {command: x, replicas: 1.5}}", "mcpServers: {a: {command: x, disabled: yes}}", "mcpServers: {a: {command: x, args: x}}",
		"mcpServers: {a: {command: x, type: tcp}}", "mcpServers: {a: {command: x, tools: {allow: x}}}", "mcpServers: {a: {command: [x]}}",
		"log: {level: loud}", "limits: {maxMessageBytes: 1XB}", "shutdown: {drian: 1s}", "metaTools: some", "projects: {p: {server: [a]}}",
	} {
		if _, report := Parse("f.yaml", []byte(text), environ("")); report.Err() == nil {
			t.Errorf("Parse takes %q", text)
		}
		if schema.Validate(plain(treeOf(text))) == nil {
			t.Errorf("the schema takes %q", text)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaFile, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(SchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// plain is a tree as an editor sees it, by the YAML core schema.
func plain(n *node) any {
	switch {
	case n == nil || n.empty():
		return nil
	case n.kind == list:
		items := []any{}
		for _, item := range n.items {
			items = append(items, plain(item))
		}
		return items
	case n.kind == mapping:
		members := object{}
		for _, m := range n.members {
			members[m.key] = plain(m.value)
		}
		return members
	case n.kind == boolean:
		return strings.EqualFold(n.text, "true")
	case n.kind == number && json.Valid([]byte(n.text)):
		return json.Number(n.text)
	}
	return n.text
}
