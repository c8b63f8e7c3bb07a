package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/toolschema"
)

// rejectedAtTop lists the keywords that major providers reject at the top level of an inputSchema.
var rejectedAtTop = [...]string{"anyOf", "oneOf", "allOf", "$ref"}

// check returns the findings of one tool.
func check(t *Tool) (found []Finding) {
	add := func(rule, pointer, format string, args ...any) {
		found = append(found, Finding{rule, t.Own, pointer, fmt.Sprintf(format, args...)})
	}
	switch {
	case t.Fault != "":
		add("unlisted", "", "the tool is not listed: %s", t.Fault)
		return found
	case t.Again:
		add("duplicate", "/name", "the server lists this name twice; the first tool is used")
		return found
	}
	input, output := toolschema.Check(t.Raw)
	switch {
	case input != nil && t.Public == "":
		add(InvalidSchema, input.Pointer, "the tool is hidden, because model providers reject requests with such a schema: %s", input.Reason)
	case input != nil:
		add(InvalidSchema, input.Pointer, "model providers reject requests with such a schema: %s", input.Reason)
	}
	if output != nil {
		add(InvalidOutputSchema, output.Pointer, "%s", output.Reason)
	}
	if t.Public != "" && t.Public != t.Name {
		add("name-changed", "/name", "%s", changed(t))
	}
	checkDescription(t, add)
	if input == nil {
		checkTop(t, add)
	}
	for _, pointer := range hiddenCharacters(t.Raw) {
		add("hidden-characters", pointer, "the text contains invisible characters, which a model reads but a user does not see")
	}
	return found
}

// changed describes how the public name differs from the intended one.
func changed(t *Tool) string {
	if utf8.RuneCountInString(t.Public) < utf8.RuneCountInString(t.Name) {
		return fmt.Sprintf("the name is shortened to %s", t.Public)
	}
	return fmt.Sprintf("the name is changed to %s", t.Public)
}

type adder = func(rule, pointer, format string, args ...any)

func checkDescription(t *Tool, add adder) {
	whole := rawjson.Span{Off: 0, End: uint32(len(t.Raw))}
	text, _ := rawjson.Unquote(rawjson.Member(t.Raw, whole, "description").Of(t.Raw))
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		add("no-description", "/description", "without a description, a model can judge the tool only by its name")
	case n > maxDescription:
		add("long-description", "/description", "the description has %d characters, more than the recommended %d; it is part of every model request", n, maxDescription)
	}
}

// checkTop reports constructs at the top level of a valid inputSchema that providers reject.
func checkTop(t *Tool, add adder) {
	whole := rawjson.Span{Off: 0, End: uint32(len(t.Raw))}
	schema := rawjson.Member(t.Raw, whole, "inputSchema")
	for _, keyword := range rejectedAtTop {
		if rawjson.Member(t.Raw, schema, keyword).Present() {
			add("top-level-construct", "/inputSchema/"+keyword, "major model providers reject %s at the top level of a schema", keyword)
		}
	}
}
