package form

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/internal/decode"
)

// maxFields is the maximum number of fields of a form.
const maxFields = 100

// Limits for a value, which may be a server's default. Check rejects a longer list, and a longer text of a field without
// options, before it examines the value further.
const (
	maxFormItems = 1000
	maxFormText  = 64 << 10 // bytes
)

// Fields is the flat schema of a form. The fields are in the server's order.
// MCP 2025-11-25, client/elicitation, requested schema.
type Fields []Field

// Field is one property of a form.
type Field struct {
	Name     string `json:"-"`
	Required bool   `json:"-"` // the form needs a value

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Pattern     string          `json:"pattern"`
	MinLength   *float64        `json:"minLength"`
	MaxLength   *float64        `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *float64        `json:"minItems"`
	MaxItems    *float64        `json:"maxItems"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"` // used by older protocol versions
	OneOf       []option        `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
		OneOf []option `json:"oneOf"`
	} `json:"items"`

	options []option // the permitted values; nil = any
}

// option is a permitted value and its title.
type option struct {
	Value string `json:"const"`
	Title string `json:"title"`
}

// ParseForm parses a requestedSchema of at most maxSchemaBytes.
func ParseForm(raw []byte) (Fields, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("the form's schema is larger than %d KiB", maxSchemaBytes>>10)
	}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := decode.JSON(raw, "the form's schema", &s); err != nil {
		return nil, err
	}
	if len(s.Properties) == 0 || string(s.Properties) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New(`the form's schema: "properties" is not an object`)
	}
	var f Fields
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil, errors.New("the form's schema is not valid JSON")
		}
		one := Field{Name: key.(string)}
		if err := decode.JSON(value, fmt.Sprintf("the form's field %q", oneLine(one.Name, 40)), &one); err != nil {
			return nil, err
		}
		one.Required = slices.Contains(s.Required, one.Name)
		one.options = one.choices()
		if f = append(f, one); len(f) > maxFields {
			return nil, fmt.Errorf("the form has more than %d fields", maxFields)
		}
	}
	return f, nil
}

// choices returns the permitted values. The schema has five ways to write them.
func (f *Field) choices() []option {
	for _, titled := range [][]option{f.OneOf, f.Items.AnyOf, f.Items.OneOf} {
		if len(titled) > 0 {
			return titled
		}
	}
	var list []option
	values := f.Enum
	if len(values) == 0 {
		values = f.Items.Enum
	}
	for i, value := range values {
		o := option{Value: value}
		if i < len(f.EnumNames) {
			o.Title = f.EnumNames[i]
		}
		list = append(list, o)
	}
	return list
}

// Label returns the text with which to display the field.
func (f *Field) Label() string { return oneLine(cmp.Or(f.Title, f.Name), 80) }

// ByDefault returns the field's default if it is valid.
func (f *Field) ByDefault() (json.RawMessage, bool) {
	if len(f.Default) == 0 || string(f.Default) == "null" || f.Check(f.Default) != nil {
		return nil, false
	}
	return f.Default, true
}

// Content returns the values as a JSON object. It omits fields without a value.
func (f Fields) Content(values map[string]json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, one := range f {
		value, ok := values[one.Name]
		if !ok {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(Quoted(one.Name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Missing returns the names of required fields without a value.
func (f Fields) Missing(values map[string]json.RawMessage) []string {
	var names []string
	for _, one := range f {
		if _, ok := values[one.Name]; !ok && one.Required {
			names = append(names, one.Name)
		}
	}
	return names
}

// Describe returns the permitted values, the description, and the default or "optional", for the prompt of the field.
func (f *Field) Describe() string {
	var words []string
	if kind := f.kind(); kind != "" {
		words = append(words, kind)
	}
	if f.Description != "" {
		words = append(words, oneLine(f.Description, 100))
	}
	if value, ok := f.ByDefault(); ok {
		words = append(words, "enter = "+oneLine(strings.Trim(string(value), `"`), 60))
	} else if !f.Required {
		words = append(words, "optional")
	}
	return strings.Join(words, "; ")
}

// kind returns which values are permitted, or "" for any text.
func (f *Field) kind() string {
	switch {
	case len(f.options) > 0 && f.Type == "array":
		return "comma-separated: " + f.optionList()
	case len(f.options) > 0:
		return f.optionList()
	case f.Type == "array":
		return "comma-separated"
	case f.Type == "boolean":
		return "yes or no"
	case f.Type == "integer" || f.Type == "number":
		return f.Type + between(f.Minimum, f.Maximum)
	case f.Format != "":
		return oneLine(f.Format, 20)
	}
	return ""
}

// optionList returns the numbered options, at most 50.
func (f *Field) optionList() string {
	const most = 50
	var words []string
	for i, o := range f.options[:min(len(f.options), most)] {
		words = append(words, fmt.Sprintf("%d %s", i+1, oneLine(cmp.Or(o.Title, o.Value), 60)))
	}
	if len(f.options) > most {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

func between(low, high *float64) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" from %g to %g", *low, *high)
	case low != nil:
		return fmt.Sprintf(", %g or more", *low)
	case high != nil:
		return fmt.Sprintf(", %g or less", *high)
	}
	return ""
}
