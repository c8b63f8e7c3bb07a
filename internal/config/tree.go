package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxDepth    = 64      // maximum depth of the tree; the deepest config has six levels
	maxExpanded = 200_000 // maximum number of nodes that aliases and merge keys may add
)

// nodeKind is the kind of a node, as named in messages.
type nodeKind string

const (
	missing     nodeKind = "nothing" // a key without value
	null        nodeKind = "null"    // null, ~
	text        nodeKind = "a string"
	number      nodeKind = "a number"
	boolean     nodeKind = "a boolean"
	list        nodeKind = "a list"
	mapping     nodeKind = "a mapping"
	invalidKind nodeKind = "" // not valid; the error has been reported
)

// node is one value of the file. Aliases share the node of their anchor.
type node struct {
	kind         nodeKind
	text         string // text of a scalar, without quotes
	plain        bool   // the scalar is written without quotes
	line, column int
	items        []*node  // items of a list
	members      []member // members of a mapping, without duplicates
	size         int      // number of nodes in it, with aliases expanded
}

// member is one key of a mapping.
type member struct {
	key          string
	line, column int
	value        *node
}

func (n *node) scalar() bool {
	return n.kind == text || n.kind == number || n.kind == boolean
}

// empty reports whether n is missing or null.
func (n *node) empty() bool { return n.kind == missing || n.kind == null }

// treeBuilder converts the library's syntax tree to nodes.
type treeBuilder struct {
	fault    findingFunc
	warn     findingFunc
	anchors  map[string]*node
	expanded int
}

// findingFunc records a finding.
type findingFunc func(line, column int, path, message, hint string)

// parseTree returns the root of data. It returns nil if data is empty, or after calling fault if data is not valid YAML.
func parseTree(data []byte, fault, warn findingFunc) *node {
	file, err := parseYAML(data)
	if err != nil {
		line, column, message := 0, 0, "not valid YAML"
		// The error's Error method would quote the line, which may contain a secret. It also takes 20 s for 400 000
		// commas.
		if e, ok := errors.AsType[*yaml.SyntaxError](err); ok {
			message = e.Message
			line, column = position(e.Token)
		}
		fault(line, column, "", message, syntaxHint(data, line, column))
		return nil
	}
	b := &treeBuilder{fault: fault, warn: warn, anchors: map[string]*node{}}
	var root *node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		n := b.node(doc.Body, "", 0)
		if root != nil {
			fault(n.line, n.column, "", "a second document", "remove the line --- before it")
			break
		}
		root = n
	}
	return root
}

// parseYAML calls the library's parser. A panic in it is returned as an error, because the input may be hostile.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

func position(t *token.Token) (line, column int) {
	if t == nil || t.Position == nil {
		return 0, 0
	}
	return t.Position.Line, t.Position.Column
}

// node converts the syntax node a; path is used in messages. It never returns nil.
func (b *treeBuilder) node(a ast.Node, path string, depth int) *node {
	n := &node{kind: missing, size: 1}
	if a == nil {
		return n
	}
	n.line, n.column = position(a.GetToken())
	if depth > maxDepth {
		b.fault(n.line, n.column, path, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
		return broken(n)
	}
	switch a := a.(type) {
	case *ast.MappingNode:
		b.mapping(n, a, path, depth)
	case *ast.MappingValueNode: // a mapping of one key
		b.mapping(n, &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: a.Start, Values: []*ast.MappingValueNode{a}}, path, depth)
	case *ast.SequenceNode:
		n.kind = list
		for i, item := range a.Values {
			child := colonText(item)
			if child == nil {
				child = b.node(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			}
			n.items = append(n.items, child)
			n.size += child.size
		}
	case *ast.AnchorNode:
		return b.anchor(n, a, path, depth)
	case *ast.AliasNode:
		return b.alias(n, a, path)
	case *ast.TagNode:
		return b.tagged(n, a, path, depth)
	default:
		b.scalar(n, a, path)
	}
	return n
}

// colonText returns a text node for a list element such as image:latest, and nil for other nodes. Inside braces, goccy/go-yaml 1.19.2 parses
// it as a mapping, although a colon that is not followed by a space is text (YAML 1.2.2, section 7.3.3).
func colonText(a ast.Node) *node {
	pair, ok := a.(*ast.MappingValueNode)
	if m, many := a.(*ast.MappingNode); many && len(m.Values) == 1 && m.GetToken().Type != token.MappingStartType {
		pair, ok = m.Values[0], true
	}
	if !ok || pair.Key.IsMergeKey() {
		return nil
	}
	key, value := pair.Key.GetToken(), pair.Value.GetToken()
	colon := pair.Start
	if value == nil || colon == nil || colon.Position.Line != value.Position.Line || colon.Position.Column+1 != value.Position.Column {
		return nil
	}
	n := &node{kind: text, plain: true, size: 1, text: key.Value + ":" + value.Value}
	n.line, n.column = position(key)
	for _, part := range []ast.Node{pair.Key, pair.Value} {
		switch part.(type) {
		case *ast.StringNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		default:
			return nil
		}
	}
	if quoted(key) || quoted(value) || value.Type == token.ImplicitNullType {
		return nil
	}
	return n
}

func quoted(t *token.Token) bool {
	return t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType
}

// broken marks n as invalid.
func broken(n *node) *node {
	n.kind = invalidKind
	return n
}

func (b *treeBuilder) scalar(n *node, a ast.Node, path string) {
	n.plain = true
	n.text = a.GetToken().Value
	switch a := a.(type) {
	case *ast.NullNode:
		n.kind = null
		if a.Token.Type == token.ImplicitNullType {
			n.kind, n.text = missing, ""
		}
	case *ast.BoolNode:
		n.kind = boolean
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind = number
	case *ast.StringNode:
		n.kind, n.text = text, a.Value
		n.plain = !quoted(a.Token)
		if n.plain && hasSlashComment(n.text) {
			b.warn(n.line, n.column, path, "// and the rest of the line are part of the text", slashHint+", or quote the text if it is intended")
		}
	case *ast.LiteralNode:
		n.kind, n.plain, n.text = text, false, a.Value.Value
	default:
		b.fault(n.line, n.column, path, "an unsupported kind of value", "")
		broken(n)
	}
}

func (b *treeBuilder) mapping(n *node, a *ast.MappingNode, path string, depth int) {
	n.kind = mapping
	seen := map[string]int{} // index into members
	var merged []*node
	for i, kv := range a.Values {
		if kv.Key.IsMergeKey() {
			merged = append(merged, b.merge(kv.Value, path, depth)...)
			continue
		}
		key, ok := b.key(kv.Key, path)
		if !ok {
			continue
		}
		m := member{key: key}
		m.line, m.column = position(kv.Key.GetToken())
		if i == 0 {
			n.line, n.column = min(n.line, m.line), m.column
		}
		if first, dup := seen[key]; dup {
			b.fault(m.line, m.column, join(path, key), "duplicate key",
				fmt.Sprintf("first defined at %d:%d", n.members[first].line, n.members[first].column))
			continue
		}
		m.value = b.node(kv.Value, join(path, key), depth+1)
		seen[key] = len(n.members)
		n.members = append(n.members, m)
		n.size += m.value.size
	}
	for _, from := range merged {
		for _, m := range from.members {
			if _, own := seen[m.key]; !own {
				seen[m.key] = len(n.members)
				n.members = append(n.members, m)
				n.size += m.value.size
			}
		}
	}
}

// key returns the text of a mapping's key.
func (b *treeBuilder) key(a ast.MapKeyNode, path string) (string, bool) {
	var k ast.Node = a
	for {
		switch inner := k.(type) {
		case *ast.MappingKeyNode: // ? key
			k = inner.Value
			continue
		case *ast.AnchorNode:
			k = inner.Value
			continue
		case *ast.StringNode:
			return inner.Value, true
		case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
			return k.GetToken().Value, true
		}
		line, column := position(a.GetToken())
		b.fault(line, column, path, "a key that is not plain text", "")
		return "", false
	}
}

// merge returns the mappings that a merge key (`<<: *base`) names, in order of precedence.
func (b *treeBuilder) merge(a ast.Node, path string, depth int) []*node {
	n := b.node(a, join(path, "<<"), depth+1)
	from := []*node{n}
	if n.kind == list {
		from = n.items
	}
	for _, m := range from {
		if m.kind != mapping && m.kind != invalidKind {
			b.fault(n.line, n.column, join(path, "<<"), fmt.Sprintf("got %s, want a mapping", m.kind), "write <<: *name, where name is the anchor of a mapping")
			return nil
		}
	}
	return from
}

// anchor converts the value of an anchor and stores it for aliases.
func (b *treeBuilder) anchor(n *node, a *ast.AnchorNode, path string, depth int) *node {
	if a.Name == nil {
		b.fault(n.line, n.column, path, "an anchor without a name", "")
		return broken(n)
	}
	name := a.Name.GetToken().Value
	delete(b.anchors, name) // inside the value, the name must not refer to an earlier anchor
	value := b.node(a.Value, path, depth+1)
	b.anchors[name] = value
	return value
}

func (b *treeBuilder) alias(n *node, a *ast.AliasNode, path string) *node {
	name := a.Value.GetToken().Value
	value, ok := b.anchors[name]
	if !ok {
		hint := "quote it if it is meant as text"
		if near := Nearest(name, slices.Sorted(maps.Keys(b.anchors))); near != "" {
			hint = fmt.Sprintf("did you mean *%s?", near)
		}
		b.fault(n.line, n.column, path, fmt.Sprintf("no anchor %q before this alias", clip(name)), hint)
		return broken(n)
	}
	if b.expanded += value.size; b.expanded > maxExpanded {
		b.fault(n.line, n.column, path, fmt.Sprintf("aliases expand to more than %d values", maxExpanded), "")
		return broken(n)
	}
	return value
}

// tagged converts a value with a tag of the YAML core schema. !!str converts any scalar to text.
func (b *treeBuilder) tagged(n *node, a *ast.TagNode, path string, depth int) *node {
	tag := a.Start.Value
	value := b.node(a.Value, path, depth+1)
	switch tag {
	case "!!str", "!":
		if value.scalar() || value.empty() {
			value = &node{kind: text, text: value.text, line: value.line, column: value.column, size: 1}
		}
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
	default:
		b.fault(n.line, n.column, path, fmt.Sprintf("unknown tag %q", clip(tag)), "quote the value if it is meant as text")
		return broken(n)
	}
	return value
}

// join appends a key to a path. It shortens long keys, and quotes keys that are empty or contain punctuation or white
// space.
func join(path, key string) string {
	key = clip(key)
	if key == "" || strings.ContainsAny(key, ". []\"\t\n") {
		key = fmt.Sprintf("%q", key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
