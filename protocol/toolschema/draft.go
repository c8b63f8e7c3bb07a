package toolschema

import (
	"strings"

	"goblin-actor/protocol/rawjson"
)

// readDraft reads from $schema which draft the schema follows; without it that is 2020-12. It reports false for a dialect that is not known.
func (c *compiler) readDraft() bool {
	dialect := rawjson.Member(c.raw, c.root, "$schema")
	if !dialect.Present() {
		return true
	}
	_, draft, known := strings.Cut(string(unquoted(dialect.Of(c.raw))), "://json-schema.org/")
	draft, _, _ = strings.Cut(strings.TrimPrefix(draft, "draft"), "/schema")
	switch draft {
	case "-03", "-04":
		c.draft4, c.draft7, c.old = true, true, true
	case "-06", "-07":
		c.draft7, c.old = true, true
	case "/2019-09":
		c.old = true
	case "/2020-12":
	default:
		return false
	}
	return known
}

// knows reports whether the draft of the schema has a keyword that others have. A server that uses one of another draft may check it or not.
func (c *compiler) knows(keyword string) bool {
	switch keyword {
	case "dependentRequired", "dependentSchemas", "minContains", "maxContains":
		return !c.draft7
	case "const", "contains", "propertyNames", "if", "then", "else":
		return !c.draft4
	}
	return true
}
