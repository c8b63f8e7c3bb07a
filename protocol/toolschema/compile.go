package toolschema

import (
	"bytes"
	"math"
	"net/url"
	"strconv"
	"strings"

	"goblin-actor/protocol/rawjson"
)

const (
	maxCompiledNodes = 2000     // per tool; schemas beyond that are not checked
	scannedPerNode   = 16 << 10 // following a reference costs one node per this many bytes of the schema
)

// node is a compiled schema. Parts without keywords are nil.
type node struct {
	never    bool // it matches no value
	partly   bool // it has keywords that the package does not check
	nullable bool // it may accept null in addition to its types
	types    jsonTypes
	enum     []rawjson.Span // spans of the schema's text
	text     *textRules
	bounds   []numberBound
	object   *objectRules
	array    *arrayRules
	parts    *parts
}

// compiler compiles the schema at root. It supports the keywords of JSON Schema 2020-12 and, if $schema names one, of
// an older draft (https://json-schema.org/draft/2020-12/json-schema-validation).
type compiler struct {
	schemaCheck
	old     bool             // a draft before 2020-12
	draft4  bool             // draft-04: "id", and boolean exclusiveMinimum
	draft7  bool             // draft-07 or before: keywords next to $ref are ignored
	nodes   map[uint32]*node // by offset, since references may be circular
	targets map[string]*node // by reference
	left    int
	outside *node // represents schemas that are not checked
}

// Compile compiles the inputSchema of a tool's definition, which must be valid according to Check. It returns the compiled
// schema and the part of budget used, at least 1. It returns nil and 0 if there is no schema, if the budget is used up, or if
// the package does not know the draft of the schema.
func Compile(tool []byte, budget int) (*InputSchema, int) {
	schema := rawjson.Member(tool, rawjson.Whole(tool), "inputSchema")
	if !schema.Present() || budget <= 0 {
		return nil, 0
	}
	raw := schema.Of(tool)
	c := compiler{nodes: map[uint32]*node{}, targets: map[string]*node{}, left: min(budget, maxCompiledNodes), outside: &node{partly: true}}
	c.raw, c.root = raw, rawjson.Whole(raw)
	c.id = unquoted(rawjson.Member(raw, c.root, "$id").Of(raw))
	if !c.readDraft() {
		return nil, 0
	}
	before := c.left
	return &InputSchema{Raw: raw, root: c.compile(c.root)}, before - c.left
}

// compile returns the node of a schema, or nil if it matches every value.
func (c *compiler) compile(at rawjson.Span) *node {
	if !at.Present() {
		return nil
	}
	switch c.raw[at.Off] {
	case 't':
		return nil
	case 'f':
		return &node{never: true}
	case '{':
	default:
		return c.outside
	}
	if n, known := c.nodes[at.Off]; known {
		return n
	}
	if c.left--; c.left < 0 {
		return c.outside
	}
	n := &node{}
	c.nodes[at.Off] = n // set before its parts are compiled, as they may refer to it
	found, plain := c.read(at)
	get := func(keyword string) rawjson.Span { return found[keyword] }
	if at.Off != c.root.Off && (get("$id").Present() || c.draft4 && get("id").Present() || get("$schema").Present()) {
		n.partly = true // references inside it have another base
		return n
	}
	n.partly = !plain
	if ref := get("$ref"); ref.Present() {
		target := c.target(ref)
		if c.draft7 {
			n.parts = &parts{ref: target}
			return n
		}
		c.compileParts(n, get)
		if n.parts == nil {
			n.parts = &parts{}
		}
		n.parts.ref = target
	} else {
		c.compileParts(n, get)
	}
	c.compileTypes(n, get)
	c.compileText(n, get)
	c.compileBounds(n, get)
	c.compileObject(n, get)
	c.compileArray(n, get)
	return n
}

// read returns the keywords of a schema, and whether the package checks all of them.
func (c *compiler) read(at rawjson.Span) (found map[string]rawjson.Span, plain bool) {
	found, plain = map[string]rawjson.Span{}, true
	for w := rawjson.WalkMembers(c.raw, at); w.Next(); {
		if bytes.IndexByte(w.Key, '\\') >= 0 {
			plain = false // the escaped key may be any keyword
			continue
		}
		switch key := string(w.Key); key {
		case "$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems", "format", "contentEncoding", "contentMediaType", "contentSchema":
			plain = false
		case "dependencies":
			plain = plain && c.old
			found[key] = w.Value
		case "nullable": // a keyword of OpenAPI
			found[key] = w.Value
		default:
			if !c.knows(key) {
				plain = false
				continue
			}
			if formOf(w.Key) != formAny || key == "const" || key == "id" {
				if found[key].Present() {
					plain = false // only one of the two is used
				}
				found[key] = w.Value
			}
		}
	}
	return found, plain
}

// target returns the schema that a reference points to.
func (c *compiler) target(ref rawjson.Span) *node {
	text, _ := rawjson.Unquote(ref.Of(c.raw))
	if n, known := c.targets[text]; known {
		return n
	}
	if c.left -= len(c.raw) / scannedPerNode; c.left <= 0 {
		return c.outside
	}
	n := c.lookUp(text)
	c.targets[text] = n
	return n
}

func (c *compiler) lookUp(text string) *node {
	fragment, inside := strings.CutPrefix(strings.TrimPrefix(text, string(c.id)), "#")
	if !inside {
		if text == string(c.id) {
			return c.compile(c.root)
		}
		return c.outside
	}
	pointer, err := url.PathUnescape(fragment)
	switch {
	case err != nil:
		return c.outside
	case pointer == "":
		return c.compile(c.root)
	case pointer[0] != '/':
		return c.outside // an anchor
	}
	at := c.at(pointer)
	if !at.Present() {
		return c.outside
	}
	return c.compile(at)
}

type getter func(keyword string) rawjson.Span

// schemas compiles a list of schemas.
func (c *compiler) schemas(list rawjson.Span) (all []*node) {
	for w := rawjson.WalkElements(c.raw, list); w.Next(); {
		all = append(all, c.compile(w.Value))
	}
	return all
}

func (c *compiler) compileParts(n *node, get getter) {
	p := parts{all: c.schemas(get("allOf")), any: c.schemas(get("anyOf")), one: c.schemas(get("oneOf"))}
	if not := get("not"); not.Present() {
		p.hasNot, p.not = true, c.compile(not)
	}
	if when := get("if"); when.Present() {
		p.hasIf, p.when, p.then, p.otherwise = true, c.compile(when), c.compile(get("then")), c.compile(get("else"))
	}
	if p.all != nil || p.any != nil || p.one != nil || p.hasNot || p.hasIf {
		n.parts = &p
	}
}

func (c *compiler) compileTypes(n *node, get getter) {
	add := func(text []byte) {
		for i, name := range schemaTypes {
			if rawjson.StringIs(text, name) {
				n.types |= 1 << i
			}
		}
	}
	list := get("type")
	if text := list.Of(c.raw); text != nil && text[0] == '"' {
		add(text)
	}
	for w := rawjson.WalkElements(c.raw, list); w.Next(); {
		add(w.Value.Of(c.raw))
	}
	n.nullable = c.isTrue(get("nullable"))
	values := get("enum")
	for w := rawjson.WalkElements(c.raw, values); w.Next(); {
		n.enum = append(n.enum, w.Value)
	}
	c.left -= len(n.enum) / 8
	if one := get("const"); one.Present() {
		if n.enum != nil {
			n.partly = true
		}
		n.enum = []rawjson.Span{one}
	}
}

func (c *compiler) isTrue(at rawjson.Span) bool { return at.Present() && c.raw[at.Off] == 't' }

// count returns the non-negative integer at the span, or missing if there is none.
func (c *compiler) count(at rawjson.Span, missing int) int {
	if !at.Present() {
		return missing
	}
	f, err := strconv.ParseFloat(string(at.Of(c.raw)), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return missing
	}
	return int(f)
}

func (c *compiler) compileText(n *node, get getter) {
	t := textRules{minLength: c.count(get("minLength"), 0), maxLength: c.count(get("maxLength"), -1)}
	if source, ok := rawjson.Unquote(get("pattern").Of(c.raw)); ok && get("pattern").Present() {
		t.pattern = c.pattern(source)
	}
	if t.minLength > 0 || t.maxLength >= 0 || t.pattern != nil {
		n.text = &t
	}
}

func (c *compiler) pattern(source string) *pattern {
	if c.left <= 0 {
		return &pattern{source: source, instructions: 1}
	}
	p := compilePattern(source)
	c.left -= 1 + p.instructions/10
	return p
}

func (c *compiler) compileBounds(n *node, get getter) {
	add := func(keyword, words string, holds func(value, limit float64) bool) {
		at := get(keyword)
		text := at.Of(c.raw)
		if text == nil || !isNumber(text[0]) {
			return
		}
		limit, exact := numberOf(text)
		n.bounds = append(n.bounds, numberBound{limit, exact, words, clipText(string(text), 32), holds, keyword == "multipleOf"})
	}
	isTrue := func(keyword string) bool { return c.isTrue(get(keyword)) }
	above := func(v, limit float64) bool { return v > limit }
	below := func(v, limit float64) bool { return v < limit }
	if isTrue("exclusiveMinimum") { // draft-04
		add("minimum", "above", above)
	} else {
		add("minimum", "of at least", func(v, limit float64) bool { return v >= limit })
		add("exclusiveMinimum", "above", above)
	}
	if isTrue("exclusiveMaximum") {
		add("maximum", "below", below)
	} else {
		add("maximum", "of at most", func(v, limit float64) bool { return v <= limit })
		add("exclusiveMaximum", "below", below)
	}
	add("multipleOf", "that is a multiple of", func(v, limit float64) bool { return math.Mod(v, limit) == 0 })
	if last := len(n.bounds) - 1; get("multipleOf").Present() && last >= 0 && n.bounds[last].limit != max(1, math.Trunc(n.bounds[last].limit)) {
		n.bounds[last].exact = false // quotients of fractions are not exact: as float64, 0.3 is not a multiple of 0.1
	}
}

func (c *compiler) compileObject(n *node, get getter) {
	o := objectRules{
		minProperties: c.count(get("minProperties"), 0), maxProperties: c.count(get("maxProperties"), -1), names: c.compile(get("propertyNames")),
	}
	member := func(name string) objectMember {
		if o.members == nil {
			o.members = map[string]objectMember{}
		}
		return o.members[name]
	}
	c.eachMember(get("properties"), func(name string, at rawjson.Span) {
		m := member(name)
		m.known, m.node = true, c.compile(at)
		o.members[name] = m
	})
	c.eachMember(get("patternProperties"), func(name string, at rawjson.Span) {
		o.patterns = append(o.patterns, patternMember{c.pattern(name), c.compile(at)})
	})
	for _, name := range c.names(get("required")) {
		if m := member(name); m.required == 0 {
			o.required = append(o.required, name)
			m.required = len(o.required)
			o.members[name] = m
		}
	}
	if additional := get("additionalProperties"); additional.Present() {
		o.additional = c.compile(additional)
		o.closed = o.additional != nil && o.additional.never
	}
	c.compileDependents(&o, get)
	if o.members != nil || o.patterns != nil || o.additional != nil || o.names != nil || o.dependents != nil || o.minProperties > 0 || o.maxProperties >= 0 {
		n.object = &o
	}
}

func (c *compiler) compileDependents(o *objectRules, get getter) {
	add := func(name string, at rawjson.Span) {
		d := dependent{name: name}
		if c.raw[at.Off] == '[' {
			d.required = c.names(at)
		} else {
			d.node = c.compile(at)
		}
		c.left--
		o.dependents = append(o.dependents, d)
	}
	c.eachMember(get("dependentRequired"), add)
	c.eachMember(get("dependentSchemas"), add)
	if c.old {
		c.eachMember(get("dependencies"), add)
	}
}

func (c *compiler) eachMember(object rawjson.Span, each func(name string, at rawjson.Span)) {
	for w := rawjson.WalkMembers(c.raw, object); w.Next(); {
		if name, ok := rawjson.AppendUnescaped(nil, w.Key); ok {
			each(string(name), w.Value)
		}
	}
}

func (c *compiler) names(list rawjson.Span) (all []string) {
	for w := rawjson.WalkElements(c.raw, list); w.Next(); {
		if name, ok := rawjson.Unquote(w.Value.Of(c.raw)); ok {
			all = append(all, name)
		}
	}
	c.left -= len(all) / 8
	return all
}

func (c *compiler) compileArray(n *node, get getter) {
	a := arrayRules{minItems: c.count(get("minItems"), 0), maxItems: c.count(get("maxItems"), -1), minContains: 1, maxContains: -1}
	items := get("items")
	switch {
	case items.Present() && c.old && c.raw[items.Off] == '[':
		a.prefix, a.items = c.schemas(items), c.compile(get("additionalItems"))
	case c.old:
		a.items = c.compile(items)
	default:
		a.prefix, a.items = c.schemas(get("prefixItems")), c.compile(items)
	}
	if contains := get("contains"); contains.Present() {
		a.hasContains, a.contains = true, c.compile(contains)
		if !c.draft7 {
			a.minContains, a.maxContains = c.count(get("minContains"), 1), c.count(get("maxContains"), -1)
		}
	}
	a.unique = c.isTrue(get("uniqueItems"))
	if a.prefix != nil || a.items != nil || a.hasContains || a.unique || a.minItems > 0 || a.maxItems >= 0 {
		n.array = &a
	}
}
