package meta

import "encoding/json"

// definition is a tool as tools/list shows it.
type definition struct {
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Description  string          `json:"description"`
	InputSchema  schema          `json:"inputSchema"`
	Name         string          `json:"name"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// schema says which arguments a tool takes, and that it takes no others.
type schema struct {
	AdditionalProperties bool                `json:"additionalProperties"` // false
	Properties           map[string]property `json:"properties"`
	Required             []string            `json:"required"`
	Type                 string              `json:"type"`
}

// property is the schema of one argument.
type property struct {
	Description string    `json:"description"`
	Items       *oneOf    `json:"items,omitempty"` // of a list
	Maximum     int       `json:"maximum,omitempty"`
	Minimum     int       `json:"minimum,omitempty"`
	Properties  *struct{} `json:"properties,omitempty"` // of an object, any of them
	Type        string    `json:"type"`
}

// oneOf is the schema of a string that is one of some words.
type oneOf struct {
	Enum []string `json:"enum"`
	Type string   `json:"type"`
}

// argument is a property with its name.
type argument struct {
	name     string
	property property
	required bool
}

// text is an argument that is a string; it may be left out.
func text(name, description string) argument {
	return argument{name, property{Description: description, Type: "string"}, false}
}

// wanted is one that may not.
func wanted(name, description string) argument {
	return argument{name, property{Description: description, Type: "string"}, true}
}

// define makes the definition of a tool that changes nothing and returns what the schema says; output "" = it does not say.
func define(name, description, output string, takes ...argument) definition {
	d := definition{
		Annotations: json.RawMessage(`{"readOnlyHint":true}`), Name: name, Description: description, OutputSchema: json.RawMessage(output),
		InputSchema: schema{Properties: make(map[string]property, len(takes)), Required: []string{}, Type: "object"},
	}
	for _, a := range takes {
		d.InputSchema.Properties[a.name] = a.property
		if a.required {
			d.InputSchema.Required = append(d.InputSchema.Required, a.name)
		}
	}
	return d
}
