package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"goblin-actor/internal/decode"
)

// Input is one argument of an item, as a row of a form.
type Input struct {
	Name        string
	Kind        string // the values that are accepted, for example "integer, 1 or more"
	Description string
	Default     string // what the server uses if the argument is missing; "" = unknown
	Required    bool
	JSON        bool // the value is an object or array

	property Schema
	field    *Field // limits of the value; nil = not checked here
}

// Inputs are the arguments of an item in the order in which its definition lists them.
type Inputs struct {
	Schema Schema
	All    []Input
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
	in := Inputs{Schema: Schema{Properties: map[string]Schema{}}}
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

// Fault returns why text is not a value of the i-th input, or nil. An empty text leaves the argument out.
func (in *Inputs) Fault(i int, text string) error {
	one := &in.All[i]
	if text == "" {
		if one.Required {
			return errors.New("required")
		}
		return nil
	}
	value, err := in.Schema.value(one.property, text)
	if err == nil && one.field != nil {
		err = one.field.Check(value)
	}
	return err
}

// Arguments converts the texts of all inputs to a JSON object.
func (in *Inputs) Arguments(name string, texts []string) ([]byte, error) {
	var pairs []Pair
	for i, text := range texts {
		if text != "" {
			pairs = append(pairs, Pair{in.All[i].Name, text})
		}
	}
	return in.Schema.Arguments(name, pairs)
}

// member is a member of a JSON object.
type member struct {
	name string
	raw  json.RawMessage
}

// members returns the properties of a schema in their order.
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
	}
	in.Kind = strings.Join(property.Type, " or ")
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
		f.options = f.choices()
		in.field = &f
	}
	return in
}
