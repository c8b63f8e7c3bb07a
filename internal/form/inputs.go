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

// Input is one argument of an item, as a row of a form.
type Input struct {
	Name        string
	Kind        string // the values that are accepted, for example "integer, 1 or more"
	Description string
	Default     string // the value that is used if the argument is left out; "" = unknown
	Required    bool
	JSON        bool // the value is an object or array

	property Schema
	field    *Field // limits of the value; nil = not checked here
}

// Inputs are the arguments of an item in the order in which its definition lists them.
type Inputs struct {
	Schema  Schema
	All     []Input
	Omitted int // number of arguments that All leaves out because a form has at most maxFields

	asked Fields // the fields of a question, one for each input; nil = not a question
}

// QuestionInputs returns the inputs for the requestedSchema of an elicitation.
func QuestionInputs(schema []byte) (Inputs, error) {
	asked, err := ParseForm(schema)
	in := Inputs{asked: asked}
	for i := range asked {
		f := &asked[i]
		one := Input{Name: f.Label(), Kind: f.kind(), Description: oneLine(f.Description, 200), Required: f.Required}
		if value, ok := f.ByDefault(); ok {
			one.Default, one.Required = oneLine(strings.Trim(string(value), `"`), 60), false
		}
		in.All = append(in.All, one)
	}
	return in, err
}

// Answer converts the texts of all inputs of a question to the content of its answer. A field with an empty text gets its
// default. If there is none, the field is left out, or Answer returns an error if it is required.
func (in *Inputs) Answer(texts []string) ([]byte, error) {
	values := map[string]json.RawMessage{}
	for i, text := range texts {
		f := &in.asked[i]
		if text == "" {
			if value, ok := f.ByDefault(); ok {
				values[f.Name] = value
			}
			continue
		}
		value, err := f.Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Label(), err)
		}
		values[f.Name] = value
	}
	if missing := in.asked.Missing(values); len(missing) > 0 {
		return nil, fmt.Errorf("%s: required", oneLine(missing[0], 80))
	}
	return in.asked.Content(values), nil
}

// ToolInputs returns the inputs of a tool from its definition.
func ToolInputs(definition []byte) (Inputs, error) {
	var d struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := decode.JSON(definition, "the tool's definition", &d); err != nil {
		return Inputs{}, err
	}
	s, err := ParseSchema(d.InputSchema)
	if err != nil || len(s.Properties) == 0 {
		return Inputs{Schema: s}, err
	}
	in := Inputs{Schema: s}
	for _, p := range members(d.InputSchema) {
		if property, ok := s.Properties[p.name]; ok && len(in.All) < maxFields {
			in.All = append(in.All, s.input(p, property))
		}
	}
	in.Omitted = len(s.Properties) - len(in.All)
	return in, nil
}

// PromptInputs returns the inputs of a prompt from its definition. All are strings.
func PromptInputs(definition []byte) (Inputs, error) {
	var d struct {
		Arguments []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Required    bool   `json:"required"`
		} `json:"arguments"`
	}
	if err := decode.JSON(definition, "the prompt's definition", &d); err != nil {
		return Inputs{}, err
	}
	in := Inputs{Schema: Schema{Properties: map[string]Schema{}}, Omitted: max(0, len(d.Arguments)-maxFields)}
	for _, a := range d.Arguments[:min(len(d.Arguments), maxFields)] {
		in.add(Input{Name: a.Name, Description: a.Description, Required: a.Required, Kind: "string"})
	}
	return in, nil
}

// add adds an input whose value is a string.
func (in *Inputs) add(one Input) {
	one.property = Schema{Type: Words{"string"}, Description: one.Description}
	in.Schema.Properties[one.Name] = one.property
	if one.Required {
		in.Schema.Required = append(in.Schema.Required, one.Name)
	}
	in.All = append(in.All, one)
}

// Fault returns why text is invalid for the i-th input, or nil. An empty text leaves the argument out, so it is invalid
// only if the argument is required.
func (in *Inputs) Fault(i int, text string) error {
	one := &in.All[i]
	if text == "" {
		if one.Required {
			return errors.New("required")
		}
		return nil
	}
	if in.asked != nil {
		_, err := in.asked[i].Read(text)
		return err
	}
	value, err := in.Schema.value(one.property, text)
	if err == nil && one.field != nil {
		err = one.field.Check(value)
	}
	return err
}

// Arguments converts the texts of all inputs to a JSON object. It leaves out inputs with an empty text. name is the
// item's name for messages.
func (in *Inputs) Arguments(name string, texts []string) ([]byte, error) {
	var pairs []Pair
	for i, text := range texts {
		if text != "" {
			pairs = append(pairs, Pair{in.All[i].Name, text})
		}
	}
	return in.Schema.Arguments(name, pairs)
}

// Required returns the names of the required arguments.
func (in *Inputs) Required() (names []string) {
	for _, one := range in.All {
		if one.Required {
			names = append(names, one.Name)
		}
	}
	return names
}

// member is a member of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

// members returns the properties of a schema in the order in which they are written, at most maxFields.
func members(schema []byte) []member {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		one := member{name: name}
		if err != nil || !ok || d.Decode(&one.raw) != nil {
			return all
		}
		if !slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
			all = append(all, one)
		}
		if len(all) == maxFields {
			break
		}
	}
	return all
}

// input returns the input for a property.
func (s Schema) input(m member, property Schema) Input {
	in := Input{Name: m.name, property: property, Description: property.Description, Required: slices.Contains(s.Required, m.name)}
	if target, ok := s.Resolve(property.Ref); ok {
		property = target
		in.Description = cmp.Or(in.Description, property.Description)
	}
	in.Kind = strings.Join(s.typesOf(property), " or ")
	in.JSON = in.Kind == "object" || in.Kind == "array"
	if len(property.Enum) > 0 {
		in.Kind = "one of " + EnumText(property.Enum)
	}
	var f Field
	if json.Unmarshal(m.raw, &f) != nil {
		return in
	}
	if d := string(f.Default); d != "null" {
		in.Default = oneLine(strings.Trim(d, `"`), 60)
	}
	switch f.Type {
	case "integer", "number":
		in.Kind += between(f.Minimum, f.Maximum)
		in.field = &f
	case "string":
		if f.options = f.choices(); len(f.options) == 0 && f.Format != "" {
			in.Kind += ", " + oneLine(f.Format, 20)
		}
		in.field = &f
	}
	return in
}
