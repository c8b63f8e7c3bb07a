package toolschema

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// refForm checks that a reference points into the same document. Other documents are not fetched.
func refForm(c *schemaCheck, at rawjson.Span) *flaw {
	text, ok := rawjson.Unquote(at.Of(c.raw))
	if !ok {
		return c.want("a string", at)
	}
	if c.refs[text] || len(c.refs) >= maxCheckedRefs {
		return nil
	}
	root := c.whole()
	if root.End-root.Off > maxCheckedSchema {
		return flawed("the schema is too large") // checkSchema reports the size instead
	}
	if c.refs == nil {
		c.refs = map[string]bool{}
		if bytes.Contains(root.Of(c.raw), []byte(`$id"`)) {
			c.id = unquoted(rawjson.Member(c.raw, root, "$id").Of(c.raw))
		}
	}
	c.refs[text] = true
	fragment, inside := strings.CutPrefix(strings.TrimPrefix(text, string(c.id)), "#")
	if !inside && text != string(c.id) && !c.has("$id", text) {
		return c.want(`a reference inside this schema (beginning with "#")`, at)
	}
	pointer, err := url.PathUnescape(fragment)
	switch {
	case err == nil && pointer == "":
		return nil
	case err == nil && pointer[0] == '/' && c.hasTarget(pointer):
		return nil
	case err == nil && pointer[0] != '/' && (c.has("$anchor", pointer) || c.has("$dynamicAnchor", pointer) || c.has("$id", "#"+pointer)):
		return nil
	}
	return flawed("%s does not exist in this schema", excerpt(at.Of(c.raw)))
}

// hasTarget reports whether the JSON pointer points to a value of the schema.
func (c *schemaCheck) hasTarget(pointer string) bool { return c.at(pointer).Present() }

// at returns the target of the JSON pointer.
func (c *schemaCheck) at(pointer string) rawjson.Span {
	at := c.whole()
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch c.raw[at.Off] {
		case '{':
			at = rawjson.Member(c.raw, at, step)
		case '[':
			at = c.element(at, step)
		default:
			return rawjson.Span{}
		}
		if !at.Present() {
			return rawjson.Span{}
		}
	}
	return at
}

func (c *schemaCheck) element(list rawjson.Span, step string) rawjson.Span {
	n, err := strconv.Atoi(step)
	if err != nil || n < 0 {
		return rawjson.Span{}
	}
	for w := rawjson.WalkElements(c.raw, list); w.Next(); n-- {
		if n == 0 {
			return w.Value
		}
	}
	return rawjson.Span{}
}

// has reports whether the schema contains a member with the key and the text, at any depth. It may mistake a member of a
// default value for a keyword. Then an invalid reference passes.
func (c *schemaCheck) has(key, text string) bool {
	inside := c.whole().Of(c.raw)
	quoted := rawjson.Quote(text)
	for {
		i := bytes.Index(inside, []byte(`"`+key+`"`))
		if i < 0 {
			return false
		}
		inside = bytes.TrimLeft(inside[i+len(key)+2:], ": \t\r\n")
		if bytes.HasPrefix(inside, quoted) {
			return true
		}
	}
}
