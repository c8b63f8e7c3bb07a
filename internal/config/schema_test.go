package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaAgreesWithParse checks that the schema accepts valid files, and rejects mistakes that an editor should mark.
func TestSchemaAgreesWithParse(t *testing.T) {
	schema := compileSchema(t)
	page, err := os.ReadFile("docgen/page.md.tmpl")
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
			t.Errorf("the schema rejects %s: %v", name, err)
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
			t.Errorf("Parse accepts %q", text)
		}
		if schema.Validate(plain(treeOf(text))) == nil {
			t.Errorf("the schema accepts %q", text)
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

// plain converts a tree to values as an editor does, by the YAML core schema.
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
