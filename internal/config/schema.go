package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
)

// SchemaFile is the file name by which new configuration files refer to the JSON Schema, which is written next to them.
const SchemaFile = "goblin.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of the configuration, for editors. It is derived from the keys'
// types, tags and comments. It checks less than Parse does, and few rules that involve several keys.
func Schema() []byte { return bytes.Clone(schemaJSON()) }

var schemaJSON = sync.OnceValue(func() []byte {
	s := &schemaWriter{reference: &referenceWriter{comments: keyComments()}, defs: object{}}
	root := s.object(reflect.TypeFor[Config]())
	properties := root["properties"].(object)
	properties["$schema"] = object{"type": "string"}
	for _, key := range foreignKeys[""] {
		properties[key] = true
	}
	for _, key := range laterSections {
		properties[key] = object{"description": "Accepted, but has no effect yet."}
	}
	whole := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "goblin-actor", "$defs": s.defs}
	maps.Copy(whole, root)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(whole); err != nil {
		panic(err)
	}
	return b.Bytes()
})

type object = map[string]any

// schemaWriter converts struct types to schemas. Each type is written once, under $defs.
type schemaWriter struct {
	reference *referenceWriter
	defs      object
}

// withReference is a schema for strings that contain a reference such as ${NAME}. They may replace any scalar.
var withReference = object{"type": "string", "pattern": `\$\{`}

// scalarTypes are the JSON types that a string may be written as.
var scalarTypes = []string{"string", "number", "boolean", "null"}

func (s *schemaWriter) object(t reflect.Type) object {
	properties := object{}
	sections := map[string]object{}
	for _, f := range fieldsOf(t) {
		to := properties
		if f.in != "" {
			if sections[f.in] == nil {
				sections[f.in] = object{}
				properties[f.in] = closed(sections[f.in])
			}
			to = sections[f.in]
		}
		text, byDefault := s.reference.describe(t, f)
		if byDefault == "required" {
			text += " Required."
		} else if byDefault != "" {
			text += " Default: " + byDefault + "."
		}
		value := s.value(f, t.FieldByIndex(f.index).Type)
		value["description"] = text
		to[f.key] = value
		if f.also != "" {
			to[f.also] = object{"description": text, "type": scalarTypes}
		}
	}
	o := closed(properties)
	o["description"] = meaning(t.Name(), firstParagraph(s.reference.comments[t.Name()]))
	return o
}

// closed returns a schema for a mapping that takes only these keys. It also permits null, which means an empty mapping.
func closed(properties object) object {
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

func (s *schemaWriter) ref(t reflect.Type) object {
	if s.defs[t.Name()] == nil {
		s.defs[t.Name()] = object{}
		o := s.object(t)
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
		s.defs[t.Name()] = o
	}
	return object{"$ref": "#/$defs/" + t.Name()}
}

func (s *schemaWriter) value(f field, t reflect.Type) object {
	switch {
	case isNamed(t):
		names := object{"minLength": 1}
		if t == reflect.TypeFor[[]Server]() {
			names["not"] = object{"const": ownName}
		}
		return object{"type": []string{"object", "null"}, "propertyNames": names, "additionalProperties": s.ref(t.Elem())}
	case t == reflect.TypeFor[map[string]string]():
		return object{"type": []string{"object", "null"}, "additionalProperties": object{"type": scalarTypes}}
	case t == reflect.TypeFor[[]string]() && f.single:
		return object{"type": append([]string{"array"}, scalarTypes...), "items": object{"type": scalarTypes}}
	case t == reflect.TypeFor[[]string]():
		return object{"type": []string{"array", "null"}, "items": object{"type": scalarTypes}}
	case t.Kind() == reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": s.ref(t.Elem())}
	case t.Kind() == reflect.Struct:
		return s.ref(t)
	case t.Kind() == reflect.String && f.oneof == nil:
		return object{"type": scalarTypes}
	}
	return object{"anyOf": append(scalarSchemas(f, t), withReference, object{"type": "null"})}
}

// scalarSchemas returns the forms of a value that is not a free string.
func scalarSchemas(f field, t reflect.Type) []object {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return []object{{"const": 0}, {"type": "string", "pattern": `^(0|([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+)$`}}
	case t.Kind() == reflect.Int64:
		return []object{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": `^[0-9]+ *([KMGT]iB|[kKMGT]?B)?$`}}
	case t.Kind() == reflect.Int:
		return []object{{"type": "integer", "minimum": json.Number(f.min), "maximum": json.Number(f.max)}}
	case t.Kind() == reflect.Bool:
		return []object{{"type": "boolean"}}
	}
	return []object{{"enum": wordsOf(f)}}
}

// wordsOf returns the words that a field takes, including spellings of other programs.
func wordsOf(f field) []any {
	var all []any
	for _, word := range f.oneof {
		if word == "true" || word == "false" {
			all = append(all, word == "true")
		}
		all = append(all, word)
	}
	for _, other := range slices.Sorted(maps.Keys(spellings)) {
		if slices.Contains(f.oneof, spellings[other]) {
			all = append(all, other)
		}
	}
	return all
}
