// Package toolschema checks the JSON Schemas in a tool's definition, and the arguments of calls against them.
//
// Check reports why a tool's inputSchema or outputSchema is invalid. Compile turns a valid inputSchema into an InputSchema,
// whose Check reports the arguments that certainly do not match. It never reports arguments because of a keyword that the
// package does not check, or because they exceed its bounds. The server decides about these.
//
// Schemas follow JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation), or the older draft that
// $schema names. All input must be valid JSON. All functions are pure and safe for concurrent use.
//
//	if input, output := toolschema.Check(tool); input == nil && output == nil {
//		schema, _ := toolschema.Compile(tool, 2000)
//		faults := schema.Check(raw, arguments) // schema is nil if the arguments cannot be checked
//	}
package toolschema
