package config

import _ "embed"

// SchemaFile is the name under which files we write refer to the JSON Schema; it stands beside them.
const SchemaFile = "goblin.schema.json"

//go:embed schema.json
var schemaJSON []byte

// Schema is the JSON Schema (draft 2020-12) of the configuration, for editors. It is generated from the tags and
// comments in types.go, as docs/config.md is. It knows less than Parse: not what concerns several keys at once.
func Schema() []byte { return append([]byte(nil), schemaJSON...) }
