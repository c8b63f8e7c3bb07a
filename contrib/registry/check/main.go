// Command check validates a server.json against a JSON Schema of the MCP registry.
//
//	go run ./contrib/registry/check SCHEMA SERVER.JSON
package main

import (
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: check SCHEMA SERVER.JSON")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// check returns an error that names each value of the document that the schema does not permit.
func check(schemaFile, documentFile string) error {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		return fmt.Errorf("compile the schema: %w", err)
	}
	file, err := os.Open(documentFile)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", documentFile, err)
	}
	return schema.Validate(document)
}
