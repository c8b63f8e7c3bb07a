package toolschema

import (
	"strings"

	"goblin-actor/protocol/rawjson"
)

// readDraft determines the draft from $schema; the default is 2020-12. It reports false for an unknown dialect.
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

// knows reports whether the schema's draft defines the keyword. Servers differ in whether they check keywords of other
// drafts.
func (c *compiler) knows(keyword string) bool {
	switch keyword {
	case "dependentRequired", "dependentSchemas", "minContains", "maxContains":
		return !c.draft7
	case "const", "contains", "propertyNames", "if", "then", "else":
		return !c.draft4
	}
	return true
}
