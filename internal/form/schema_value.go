package form

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/internal/secret"
)

// maxKindSteps is the maximum number of references and alternatives that are followed to find the types of a value.
const maxKindSteps = 1000

// kindNames lists the JSON types. A text is converted to the first of them that the property permits and that the text can
// be converted to.
var kindNames = []string{"null", "boolean", "integer", "number", "array", "object", "string"}

// value converts the text of an argument to JSON, using the schema of its property. s is the whole schema, which
// contains the definitions. Numbers keep their digits.
func (s Schema) value(property Schema, text string) (json.RawMessage, error) {
	k := kinds{whole: s, seen: map[string]bool{}, left: maxKindSteps}
	k.add(property, true)
	switch {
	case k.anything:
		return guess(text), nil
	case len(k.enum) > 0:
		return fromEnum(k.enum, text)
	}
	var wanted []string
	for _, t := range kindNames {
		if !slices.Contains(k.types, t) {
			continue
		}
		if raw, ok := typed(t, text); ok {
			return raw, nil
		}
		wanted = append(wanted, t)
	}
	if len(wanted) == 0 {
		return guess(text), nil // unknown types
	}
	return nil, fmt.Errorf("want %s, got %q", strings.Join(wanted, " or "), excerpt(text))
}

// excerpt returns the beginning of a value for an error message, without secrets.
func excerpt(text string) string {
	const shown, searched = 200, 4 << 10 // more is searched than shown, so that a secret that is cut is not shown
	runes := []rune(secret.Text(text[:min(len(text), searched)]))
	if len(runes) <= shown {
		return string(runes)
	}
	return string(runes[:shown-1]) + "…"
}

// kinds collects the types that a property may have, through references and unions. Each reference is followed once.
type kinds struct {
	whole    Schema
	types    []string          // subset of kindNames, without duplicates
	enum     []json.RawMessage // enum of the property or of the definition that it refers to
	anything bool
	seen     map[string]bool // references followed
	left     int             // steps left
}

// add collects the types of p. top means that p is the property, or the definition that it refers to, and not an
// alternative of a union.
func (k *kinds) add(p Schema, top bool) {
	if k.left--; k.left < 0 {
		k.anything = true
	}
	if k.anything {
		return
	}
	if p.Ref != "" {
		target, ok := k.whole.Resolve(p.Ref)
		switch {
		case !ok:
			k.anything = true
		case !k.seen[p.Ref]:
			k.seen[p.Ref] = true
			k.add(target, top)
		}
		return
	}
	if top {
		k.enum = p.Enum
	} else if len(p.Enum) > 0 && len(p.Type) == 0 {
		k.note("string")
	}
	for _, t := range p.Type {
		k.note(t)
	}
	if len(p.Type)+len(p.Enum)+len(p.AnyOf)+len(p.OneOf) == 0 {
		k.anything = true
	}
	for _, options := range [][]Schema{p.AnyOf, p.OneOf} {
		for _, option := range options {
			k.add(option, false)
			if k.anything {
				return
			}
		}
	}
}

// typesOf returns the types that a property may have, through references and unions. If these permit anything, or
// there are none, it returns the property's own types.
func (s Schema) typesOf(property Schema) []string {
	k := kinds{whole: s, seen: map[string]bool{}, left: maxKindSteps}
	if k.add(property, true); k.anything || len(k.types) == 0 {
		return property.Type
	}
	return k.types
}

func (k *kinds) note(t string) {
	if slices.Contains(kindNames, t) && !slices.Contains(k.types, t) {
		k.types = append(k.types, t)
	}
}

// Resolve returns the definition in s to which ref refers. It resolves only #/$defs/NAME and #/definitions/NAME.
func (s Schema) Resolve(ref string) (Schema, bool) {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		target, found := s.Defs[name]
		return target, found
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		target, found := s.Definitions[name]
		return target, found
	}
	return Schema{}, false
}

// typed converts text to a value of type t, and reports whether that is possible.
func typed(t, text string) (json.RawMessage, bool) {
	if t == "string" {
		return Quoted(text), true
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

// fromEnum returns the member of enum that equals text, as JSON or as a string.
func fromEnum(enum []json.RawMessage, text string) (json.RawMessage, error) {
	for _, v := range enum {
		var s string
		if string(v) == text || json.Unmarshal(v, &s) == nil && s == text {
			return v, nil
		}
	}
	return nil, fmt.Errorf("want one of %s, got %q", EnumText(enum), excerpt(text))
}

// guess converts a text of unknown type. JSON other than a string is used as it is; anything else becomes a string.
func guess(text string) json.RawMessage {
	if text != "" && text[0] != '"' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return Quoted(text)
}

// Quoted returns text as a JSON string.
func Quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // marshaling a string cannot fail
	return raw
}
