package protocol

import (
	"bytes"
	"slices"
	"strconv"
)

// form checks the value of a keyword: plain, or nested for one that holds schemas.
type form struct {
	plain  plainForm
	nested nestedForm
}

type plainForm func(c *schemaCheck, at Span) *flaw

// nestedForm checks the value at an offset and returns the offset behind it.
type nestedForm func(c *schemaCheck, at, depth int) (end int, f *flaw)

// keywords are those of JSON Schema 2020-12 and of the drafts before it, with the forms that their meta-schemas demand
// (https://json-schema.org/draft/2020-12/schema, http://json-schema.org/draft-07/schema). It is filled by init, as forms lead back to it.
var keywords = map[string]form{}

func init() {
	for name, plain := range map[string]plainForm{
		"type": typeForm, "required": namesForm, "enum": arrayForm, "examples": arrayForm, "$ref": refForm, "$dynamicRef": refForm,
		"multipleOf": positiveForm, "exclusiveMinimum": exclusiveForm, "exclusiveMaximum": exclusiveForm, "minimum": numberForm, "maximum": numberForm,
		"$vocabulary": objectForm,
	} {
		keywords[name] = form{plain: plain}
	}
	for name, nested := range map[string]nestedForm{
		"items": itemsForm, "dependencies": mapOf(dependencyForm), "dependentRequired": mapOf(nestedNamesForm),
	} {
		keywords[name] = form{nested: nested}
	}
	for _, name := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		keywords[name] = form{nested: mapOf(deeper)}
	}
	for _, name := range []string{"additionalProperties", "additionalItems", "contains", "propertyNames", "if", "then", "else", "not",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema"} {
		keywords[name] = form{nested: deeper}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		keywords[name] = form{nested: schemasForm}
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"} {
		keywords[name] = form{plain: countForm}
	}
	for _, name := range []string{"title", "description", "format", "pattern", "$comment", "$id", "$schema", "$anchor", "$dynamicAnchor",
		"contentEncoding", "contentMediaType"} {
		keywords[name] = form{plain: stringForm}
	}
	for _, name := range []string{"uniqueItems", "readOnly", "writeOnly", "deprecated"} {
		keywords[name] = form{plain: booleanForm}
	}
}

func deeper(c *schemaCheck, at, depth int) (int, *flaw) { return c.schema(at, depth+1) }

// mapOf is an object whose members all have a form.
func mapOf(each nestedForm) nestedForm {
	return func(c *schemaCheck, at, depth int) (int, *flaw) {
		if c.raw[at] != '{' {
			return at, c.want("an object", c.span(at))
		}
		w := c.inside(at)
		for w.key() {
			end, f := each(c, w.at, depth)
			if f != nil {
				key, _ := appendUnescaped(nil, w.name)
				return at, f.in(string(key))
			}
			w.at = end
		}
		return w.end(), nil
	}
}

// schemasForm is a list of schemas, at least one.
func schemasForm(c *schemaCheck, at, depth int) (int, *flaw) {
	if c.raw[at] != '[' {
		return at, c.want("an array of schemas", c.span(at))
	}
	i := 0
	w := c.inside(at)
	for ; w.next(); i++ {
		end, f := c.schema(w.at, depth+1)
		if f != nil {
			return at, f.in(strconv.Itoa(i))
		}
		w.at = end
	}
	if i == 0 && !c.old {
		return at, flawed("want at least one schema")
	}
	return w.end(), nil
}

// itemsForm is a schema; before 2020-12 also a list of them.
func itemsForm(c *schemaCheck, at, depth int) (int, *flaw) {
	if c.old && c.raw[at] == '[' {
		return schemasForm(c, at, depth)
	}
	return c.schema(at, depth+1)
}

// dependencyForm is a schema or a list of names. 2020-12 has split dependencies in two and still allows the keyword.
func dependencyForm(c *schemaCheck, at, depth int) (int, *flaw) {
	if c.raw[at] == '[' {
		return nestedNamesForm(c, at, depth)
	}
	return c.schema(at, depth+1)
}

func nestedNamesForm(c *schemaCheck, at, _ int) (int, *flaw) {
	value := c.span(at)
	return int(value.End), namesForm(c, value)
}

// namesForm is a list of different strings.
func namesForm(c *schemaCheck, at Span) *flaw {
	if c.raw[at.Off] != '[' {
		return c.want("an array of names", at)
	}
	var few [16][]byte
	seen, i := few[:0], 0
	for w := walkElements(c.raw, at); w.next(); i++ {
		name := w.value.Of(c.raw)
		if name[0] != '"' {
			return c.want("a name, which is a string", w.value).in(strconv.Itoa(i))
		}
		if len(seen) < 64 && slices.ContainsFunc(seen, func(other []byte) bool { return bytes.Equal(other, name) }) {
			return flawed("%s is listed twice", excerpt(name)).in(strconv.Itoa(i))
		}
		seen = append(seen, name)
	}
	return nil
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// typeForm is the name of a type, or a list of different ones, at least one.
func typeForm(c *schemaCheck, at Span) *flaw {
	if c.raw[at.Off] == '[' {
		if f := namesForm(c, at); f != nil {
			return f
		}
		i := 0
		for w := walkElements(c.raw, at); w.next(); i++ {
			if f := typeName(c, w.value); f != nil {
				return f.in(strconv.Itoa(i))
			}
		}
		if i == 0 {
			return flawed("want at least one type")
		}
		return nil
	}
	return typeName(c, at)
}

func typeName(c *schemaCheck, at Span) *flaw {
	switch string(at.Of(c.raw)) { // the usual spellings
	case `"array"`, `"boolean"`, `"integer"`, `"null"`, `"number"`, `"object"`, `"string"`:
		return nil
	}
	if text := at.Of(c.raw); text[0] != '"' || !slices.ContainsFunc(schemaTypes, func(name string) bool { return equalsText(text, name) }) {
		return c.want("one of the types array, boolean, integer, null, number, object and string", at)
	}
	return nil
}

func arrayForm(c *schemaCheck, at Span) *flaw {
	if c.raw[at.Off] != '[' {
		return c.want("an array", at)
	}
	return nil
}

func objectForm(c *schemaCheck, at Span) *flaw {
	if c.raw[at.Off] != '{' {
		return c.want("an object", at)
	}
	return nil
}

func stringForm(c *schemaCheck, at Span) *flaw {
	if c.raw[at.Off] != '"' {
		return c.want("a string", at)
	}
	return nil
}

func booleanForm(c *schemaCheck, at Span) *flaw {
	if b := c.raw[at.Off]; b != 't' && b != 'f' {
		return c.want("true or false", at)
	}
	return nil
}

func isNumber(b byte) bool { return b == '-' || b >= '0' && b <= '9' }

func numberForm(c *schemaCheck, at Span) *flaw {
	if !isNumber(c.raw[at.Off]) {
		return c.want("a number", at)
	}
	return nil
}

// exclusiveForm is a number; in draft-04 it was true or false.
func exclusiveForm(c *schemaCheck, at Span) *flaw {
	if c.old && booleanForm(c, at) == nil {
		return nil
	}
	return numberForm(c, at)
}

func positiveForm(c *schemaCheck, at Span) *flaw {
	if n, err := strconv.ParseFloat(string(at.Of(c.raw)), 64); !isNumber(c.raw[at.Off]) || err == nil && n <= 0 {
		return c.want("a number above 0", at)
	}
	return nil
}

// countForm is a whole number from 0 on; 2.0 is one.
func countForm(c *schemaCheck, at Span) *flaw {
	text := at.Of(c.raw)
	if n, err := strconv.ParseFloat(string(text), 64); !isNumber(text[0]) || err != nil || n < 0 || n != float64(uint64(n)) {
		return c.want("a whole number, 0 or more", at)
	}
	return nil
}
