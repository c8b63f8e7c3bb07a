package toolschema

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"goblin-actor/protocol/rawjson"
)

// form is the required form of a keyword's value.
type form byte

const (
	formAny           form = iota // any value; the form of unknown keywords, too
	formType                      // a type name, or a list of them
	formNames                     // a list of distinct strings
	formArray                     // an array
	formObject                    // an object
	formString                    // a string
	formBoolean                   // true or false
	formNumber                    // a number
	formExclusive                 // a number; in draft-04 a boolean
	formPositive                  // a number above 0
	formCount                     // an integer of at least 0
	formRef                       // a reference
	formSchema                    // a schema
	formItems                     // a schema; before 2020-12 also a list of schemas
	formSchemas                   // a list of schemas
	formSchemaMap                 // an object of schemas
	formDependencyMap             // an object of schemas and lists of names
	formNamesMap                  // an object of lists of names
)

// formOf returns the form that the meta-schemas of JSON Schema 2020-12 and older drafts require for the value of a
// keyword (https://json-schema.org/draft/2020-12/schema, http://json-schema.org/draft-07/schema).
func formOf(keyword []byte) form {
	switch string(keyword) {
	case "title", "description", "format", "pattern", "$comment", "$id", "$schema", "$anchor", "$dynamicAnchor", "contentEncoding", "contentMediaType":
		return formString
	case "type":
		return formType
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return formSchemaMap
	case "required":
		return formNames
	case "enum", "examples":
		return formArray
	case "items":
		return formItems
	case "additionalProperties", "additionalItems", "contains", "propertyNames", "if", "then", "else", "not",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema":
		return formSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return formSchemas
	case "$ref", "$dynamicRef":
		return formRef
	case "minimum", "maximum":
		return formNumber
	case "exclusiveMinimum", "exclusiveMaximum":
		return formExclusive
	case "multipleOf":
		return formPositive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return formCount
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		return formBoolean
	case "$vocabulary":
		return formObject
	case "dependencies":
		return formDependencyMap
	case "dependentRequired":
		return formNamesMap
	}
	return formAny
}

// value checks the value at an offset and returns the offset after it.
func (c *schemaCheck) value(want form, at, depth int) (end int, f *flaw) {
	switch want {
	case formSchema:
		return c.schema(at, depth+1)
	case formItems:
		return itemsForm(c, at, depth)
	case formSchemas:
		return schemasForm(c, at, depth)
	case formSchemaMap, formDependencyMap, formNamesMap:
		return mapForm(c, want, at, depth)
	}
	value := c.span(at)
	return int(value.End), c.plain(want, value)
}

// plain checks a value that does not contain schemas.
func (c *schemaCheck) plain(want form, at rawjson.Span) *flaw {
	switch want {
	case formType:
		return typeForm(c, at)
	case formNames:
		return namesForm(c, at)
	case formArray:
		return arrayForm(c, at)
	case formObject:
		return objectForm(c, at)
	case formString:
		return stringForm(c, at)
	case formBoolean:
		return booleanForm(c, at)
	case formNumber:
		return numberForm(c, at)
	case formExclusive:
		return exclusiveForm(c, at)
	case formPositive:
		return positiveForm(c, at)
	case formCount:
		return countForm(c, at)
	case formRef:
		return refForm(c, at)
	}
	return nil
}

// mapForm checks an object whose members have the form of a map keyword.
func mapForm(c *schemaCheck, want form, at, depth int) (end int, f *flaw) {
	if c.raw[at] != '{' {
		return at, c.want("an object", c.span(at))
	}
	w := c.inside(at)
	for w.key() {
		switch want {
		case formSchemaMap:
			w.at, f = c.schema(w.at, depth+1)
		case formDependencyMap:
			w.at, f = dependencyForm(c, w.at, depth)
		default:
			w.at, f = c.value(formNames, w.at, depth)
		}
		if f != nil {
			key, _ := rawjson.AppendUnescaped(nil, w.name)
			return at, f.in(string(key))
		}
	}
	return w.end(), nil
}

// schemasForm checks a list of at least one schema. Older drafts allow an empty list.
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
	if i == 0 && !c.older() {
		return at, flawed("want at least one schema")
	}
	return w.end(), nil
}

// itemsForm checks a schema or, before 2020-12, a list of schemas.
func itemsForm(c *schemaCheck, at, depth int) (int, *flaw) {
	if c.raw[at] == '[' && c.older() {
		return schemasForm(c, at, depth)
	}
	return c.schema(at, depth+1)
}

// dependencyForm checks a schema or a list of names. JSON Schema 2020-12 replaced dependencies with two keywords but still
// allows it.
func dependencyForm(c *schemaCheck, at, depth int) (int, *flaw) {
	if c.raw[at] == '[' {
		return c.value(formNames, at, depth)
	}
	return c.schema(at, depth+1)
}

// namesForm checks a list of distinct strings. It compares only the first 64 strings.
func namesForm(c *schemaCheck, at rawjson.Span) *flaw {
	if c.raw[at.Off] != '[' {
		return c.want("an array of names", at)
	}
	var few [16][]byte
	seen, i := few[:0], 0
	for w := rawjson.WalkElements(c.raw, at); w.Next(); i++ {
		name := w.Value.Of(c.raw)
		if name[0] != '"' {
			return c.want("a name (a string)", w.Value).in(strconv.Itoa(i))
		}
		if len(seen) < 64 && slices.ContainsFunc(seen, func(other []byte) bool { return bytes.Equal(other, name) }) {
			return flawed("%s is listed twice", excerpt(name)).in(strconv.Itoa(i))
		}
		seen = append(seen, name)
	}
	return nil
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// typeForm checks a type name, or a list of at least one distinct type name.
func typeForm(c *schemaCheck, at rawjson.Span) *flaw {
	if c.raw[at.Off] == '[' {
		if f := namesForm(c, at); f != nil {
			return f
		}
		i := 0
		for w := rawjson.WalkElements(c.raw, at); w.Next(); i++ {
			if f := typeName(c, w.Value); f != nil {
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

func typeName(c *schemaCheck, at rawjson.Span) *flaw {
	switch string(at.Of(c.raw)) { // the usual spellings
	case `"array"`, `"boolean"`, `"integer"`, `"null"`, `"number"`, `"object"`, `"string"`:
		return nil
	}
	if text := at.Of(c.raw); text[0] != '"' || !slices.ContainsFunc(schemaTypes, func(name string) bool { return rawjson.StringIs(text, name) }) {
		return c.want("one of the types array, boolean, integer, null, number, object and string", at)
	}
	return nil
}

func arrayForm(c *schemaCheck, at rawjson.Span) *flaw {
	if c.raw[at.Off] != '[' {
		return c.want("an array", at)
	}
	return nil
}

func objectForm(c *schemaCheck, at rawjson.Span) *flaw {
	if c.raw[at.Off] != '{' {
		return c.want("an object", at)
	}
	return nil
}

func stringForm(c *schemaCheck, at rawjson.Span) *flaw {
	if c.raw[at.Off] != '"' {
		return c.want("a string", at)
	}
	return nil
}

func booleanForm(c *schemaCheck, at rawjson.Span) *flaw {
	if b := c.raw[at.Off]; b != 't' && b != 'f' {
		return c.want("true or false", at)
	}
	return nil
}

func isNumber(b byte) bool { return b == '-' || b >= '0' && b <= '9' }

func numberForm(c *schemaCheck, at rawjson.Span) *flaw {
	if !isNumber(c.raw[at.Off]) {
		return c.want("a number", at)
	}
	return nil
}

// exclusiveForm checks a number or, in older drafts, a boolean.
func exclusiveForm(c *schemaCheck, at rawjson.Span) *flaw {
	if booleanForm(c, at) == nil && c.older() {
		return nil
	}
	return numberForm(c, at)
}

func positiveForm(c *schemaCheck, at rawjson.Span) *flaw {
	if n, err := strconv.ParseFloat(string(at.Of(c.raw)), 64); !isNumber(c.raw[at.Off]) || err == nil && n <= 0 {
		return c.want("a number above 0", at)
	}
	return nil
}

// countForm checks an integer of at least 0. 2.0 is an integer.
func countForm(c *schemaCheck, at rawjson.Span) *flaw {
	text := at.Of(c.raw)
	if n, err := strconv.ParseFloat(string(text), 64); !isNumber(text[0]) || err != nil || n < 0 || n != math.Trunc(n) {
		return c.want("a whole number of at least 0", at)
	}
	return nil
}
