// Package form converts the text that a user types to the arguments of a tool or prompt, to the variables of a URI
// template, and to the content of an elicitation. Its functions are pure.
//
// Schema is a tool's input schema, whose arguments are written as key=value. Fields is the flat schema of an elicitation.
// Inputs are the rows of a form. Use is a call, a prompt or a read, written as a command line, as JSON-RPC, for curl or
// as a txtar archive.
package form

import (
	"strings"

	"goblin-actor/internal/visible"
)

// oneLine escapes s, replaces each run of white space by a space, and cuts the result to limit characters.
func oneLine(s string, limit int) string {
	return visible.Cut(visible.Text(strings.Join(strings.Fields(s), " ")), limit)
}
