package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"goblin-actor/internal/decode"
)

// Schema holds the parts of a JSON Schema (2020-12) that are needed to convert arguments. The zero Schema permits
// everything.
type Schema struct {
	Type                 Words             `json:"type"`
	Enum                 []json.RawMessage `json:"enum"`
	Description          string            `json:"description"`
	Properties           map[string]Schema `json:"properties"`
	PatternProperties    json.RawMessage   `json:"patternProperties"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
	Required             []string          `json:"required"`
	AnyOf                []Schema          `json:"anyOf"`
	OneOf                []Schema          `json:"oneOf"`
	Items                json.RawMessage   `json:"items"` // a schema; in older drafts also an array of schemas
	Ref                  string            `json:"$ref"`
	Defs                 map[string]Schema `json:"$defs"`
	Definitions          map[string]Schema `json:"definitions"` // older drafts
}

// Words is one string or several.
type Words []string

// UnmarshalJSON accepts a string or an array of strings.
func (w *Words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = Words{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(w))
}

// UnmarshalJSON decodes the schemas true and false as the zero Schema.
func (s *Schema) UnmarshalJSON(raw []byte) error {
	if text := string(raw); text == "true" || text == "false" {
		*s = Schema{}
		return nil
	}
	type plain Schema
	return json.Unmarshal(raw, (*plain)(s))
}

// Limits for a schema. The depth is limited because decoding scans each level once more for every enclosing level.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 64
)

// ParseSchema parses a tool's inputSchema. It returns the zero Schema if there is none or if it exceeds the limits.
func ParseSchema(raw []byte) (Schema, error) {
	var s Schema
	if raw == nil || string(raw) == "null" || len(raw) > maxSchemaBytes || deeper(raw, maxSchemaDepth) {
		return s, nil
	}
	err := decode.JSON(raw, "the input schema", &s)
	return s, err
}

// deeper reports whether the nesting of raw, which must be valid JSON, exceeds most levels.
func deeper(raw []byte, most int) bool {
	open, inText := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if open++; open > most {
				return true
			}
		case c == '}' || c == ']':
			open--
		}
	}
	return false
}

// open reports whether arguments that the schema does not declare are accepted. They are if it has patternProperties, or
// additionalProperties other than false. If additionalProperties is absent, they are accepted only by a schema that declares no
// arguments, although JSON Schema permits them everywhere.
func (s *Schema) open() bool {
	if s.PatternProperties != nil {
		return true
	}
	if s.AdditionalProperties == nil {
		return len(s.Properties) == 0
	}
	return string(s.AdditionalProperties) != "false"
}

// Arguments converts the pairs to a JSON object. If an argument is unknown or invalid, or required ones are missing, it
// returns an *ArgumentError. Its hint describes these arguments. For an unknown one, the hint suggests a similar name or
// lists all names. tool is the tool's name for messages.
func (s Schema) Arguments(tool string, pairs []Pair) ([]byte, error) {
	object := map[string]json.RawMessage{}
	for _, p := range pairs {
		property, known := s.Properties[p.Key]
		if !known && !s.open() {
			return nil, argumentError(s.unknownHint(p.Key), "%s has no argument %q", tool, p.Key)
		}
		value, err := s.value(property, p.Value)
		if err != nil {
			return nil, argumentError(describe(p.Key, property), "argument %q: %w", p.Key, err)
		}
		object[p.Key] = value
	}
	var missing []string
	for _, key := range s.Required {
		if _, given := object[key]; !given {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		hints := make([]string, len(missing))
		for i, key := range missing {
			hints[i] = describe(key, s.Properties[key])
		}
		return nil, argumentError(strings.Join(hints, "\n"), "%s requires %s", tool, strings.Join(missing, ", "))
	}
	return json.Marshal(object)
}

// describe describes how to write an argument.
func describe(key string, p Schema) string {
	kind := strings.Join(p.Type, " or ")
	switch {
	case len(p.Enum) > 0:
		kind = "one of " + EnumText(p.Enum)
	case slices.Contains(p.Type, "array"):
		kind = "array, as JSON like [1, 2]"
	case slices.Contains(p.Type, "object"):
		kind = `object, as JSON like {"a": 1}`
	}
	text := key + "=…"
	if kind != "" {
		text += " (" + kind + ")"
	}
	if p.Description != "" {
		text += ": " + oneLine(p.Description, 100)
	}
	return text
}

// EnumText lists the members of an enum.
func EnumText(values []json.RawMessage) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = oneLine(strings.Trim(string(v), `"`), 40)
	}
	return strings.Join(texts, ", ")
}

// unknownHint suggests the argument whose name is most similar to key. If none is similar, it lists all.
func (s Schema) unknownHint(key string) string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 {
		return "omit all arguments"
	}
	best := slices.MinFunc(names, func(a, b string) int { return distance(a, key) - distance(b, key) })
	if distance(best, key) <= 2 {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "use one of: " + strings.Join(names, ", ")
}

// distance returns the case-insensitive edit distance of a and b.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			cost := before
			if x[i] != y[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, before+1, row[j]+1)
		}
	}
	return row[len(y)]
}
