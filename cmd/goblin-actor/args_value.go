package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxRefs bounds how many $ref and union steps are followed.
const maxRefs = 16

// value types the text of one argument by the schema of its property. s is the whole schema, which holds the
// definitions. The result is JSON; numbers keep their digits.
func (s schema) value(property schema, text string) (json.RawMessage, error) {
	types, enum := s.kinds(property, maxRefs)
	if len(enum) > 0 {
		return fromEnum(enum, text)
	}
	if len(types) == 0 {
		return guess(text), nil
	}
	var wanted []string
	for _, t := range []string{"null", "boolean", "integer", "number", "array", "object", "string"} { // most telling first
		if !slices.Contains(types, t) {
			continue
		}
		if raw, ok := typed(t, text); ok {
			return raw, nil
		}
		wanted = append(wanted, t)
	}
	if len(wanted) == 0 {
		return guess(text), nil // types nobody knows
	}
	return nil, fmt.Errorf("want %s, got %q", strings.Join(wanted, " or "), text)
}

// kinds collects the types and the enum a property allows, through references and unions.
func (s schema) kinds(p schema, left int) (types []string, enum []json.RawMessage) {
	if left == 0 {
		return nil, nil
	}
	if p.Ref != "" {
		if target, ok := s.resolve(p.Ref); ok {
			return s.kinds(target, left-1)
		}
		return nil, nil
	}
	types, enum = slices.Clone(p.Type), p.Enum
	for _, option := range slices.Concat(p.AnyOf, p.OneOf) {
		t, e := s.kinds(option, left-1)
		if len(t) == 0 && len(e) == 0 {
			return nil, nil // anything goes
		}
		if len(e) > 0 && len(t) == 0 {
			t = []string{"string"}
		}
		types = append(types, t...)
	}
	return types, enum
}

// resolve follows a reference into the schema's own definitions; others are never fetched.
func (s schema) resolve(ref string) (schema, bool) {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		target, found := s.Defs[name]
		return target, found
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		target, found := s.Definitions[name]
		return target, found
	}
	return schema{}, false
}

// typed reads text as a value of the type.
func typed(t, text string) (json.RawMessage, bool) {
	if t == "string" {
		return quoted(text), true
	}
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	raw := strings.TrimSpace(text)
	number := raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	ok := false
	switch t {
	case "null":
		ok = raw == "null"
	case "boolean":
		ok = raw == "true" || raw == "false"
	case "integer":
		ok = number && !strings.ContainsAny(raw, ".eE")
	case "number":
		ok = number
	case "array":
		ok = raw[0] == '['
	case "object":
		ok = raw[0] == '{'
	}
	return json.RawMessage(raw), ok
}

// fromEnum finds the value that is written like text.
func fromEnum(enum []json.RawMessage, text string) (json.RawMessage, error) {
	for _, v := range enum {
		var s string
		if string(v) == text || json.Unmarshal(v, &s) == nil && s == text {
			return v, nil
		}
	}
	return nil, fmt.Errorf("want one of %s, got %q", enumText(enum), text)
}

// guess types a text nothing is known of: JSON other than a string as it is, everything else as text.
func guess(text string) json.RawMessage {
	if text != "" && text[0] != '"' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quoted(text)
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a string cannot fail
	return raw
}
