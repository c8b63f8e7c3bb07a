package meta

import "encoding/json"

// definition is a tool as listed by tools/list.
type definition struct {
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Description  string          `json:"description"`
	InputSchema  schema          `json:"inputSchema"`
	Name         string          `json:"name"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// schema is the schema of a tool's arguments. It allows no other arguments.
type schema struct {
	AdditionalProperties bool                `json:"additionalProperties"` // always false
	Properties           map[string]property `json:"properties"`
	Required             []string            `json:"required"`
	Type                 string              `json:"type"`
}

// property is the schema of one argument.
type property struct {
	Description string    `json:"description"`
	Items       *oneOf    `json:"items,omitempty"` // of an array
	Maximum     int       `json:"maximum,omitempty"`
	Minimum     int       `json:"minimum,omitempty"`
	Properties  *struct{} `json:"properties,omitempty"` // of an object with arbitrary members
	Type        string    `json:"type"`
}

// oneOf is the schema of a string from a fixed set.
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

// optionalText returns an optional string argument.
func optionalText(name, description string) argument {
	return argument{name, property{Description: description, Type: "string"}, false}
}

// requiredText returns a required string argument.
func requiredText(name, description string) argument {
	return argument{name, property{Description: description, Type: "string"}, true}
}

// define returns the definition of a read-only tool. The parameter output is its output schema; "" omits it.
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
