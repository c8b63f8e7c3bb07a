package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// editor changes a configuration by replacing parts of its text. It takes line numbers from the library's syntax tree, whose columns and
// offsets are not always right, and positions inside brackets from scanFlow. The function edit verifies each result.
type editor struct {
	text    string // the text as given
	lf      string // text with LF line endings; all offsets refer to it
	starts  []int  // offset of each line in lf
	tree    *node
	body    ast.Node // nil if the file has only comments
	splices []splice
}

// splice replaces lf[from:to]. Splices at the same offset apply in the order they were added.
type splice struct {
	from, to int
	with     string
}

func newEditor(text string) (*editor, error) {
	d := &editor{text: text, lf: blankComments(lineFeeds(text))}
	d.tree = treeOf(text)
	file, err := parseYAML([]byte(d.lf))
	if err != nil {
		return nil, ErrByHand
	}
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.DirectiveType && doc.Body.Type() != ast.CommentType {
			d.body = doc.Body
			break
		}
	}
	for at := 0; at < len(d.lf); at = min(len(d.lf), lineEnd(d.lf, at)+1) {
		d.starts = append(d.starts, at)
	}
	return d, nil
}

// put replaces lf[from:to].
func (d *editor) put(from, to int, with string) {
	d.splices = append(d.splices, splice{from, to, with})
}

// apply applies all splices and returns the text. It preserves the original line endings.
func (d *editor) apply() string {
	newline := "\n"
	if i := strings.IndexByte(d.text, '\n'); i > 0 && d.text[i-1] == '\r' {
		newline = "\r\n"
	}
	slices.SortStableFunc(d.splices, func(a, b splice) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at, given := 0, 0 // the same position in lf and in text
	copyTo := func(to int, write bool) {
		from := given
		for ; at < to; at++ {
			if d.lf[at] == '\n' && d.text[given] == '\r' {
				given++
			}
			given++
		}
		if write {
			b.WriteString(d.text[from:given])
		}
	}
	for _, s := range d.splices {
		copyTo(s.from, true)
		copyTo(s.to, false)
		b.WriteString(strings.ReplaceAll(s.with, "\n", newline))
	}
	copyTo(len(d.lf), true)
	return b.String()
}

// line returns line i without its line feed, or "" past the last line.
func (d *editor) line(i int) string {
	if i < 0 || i >= len(d.starts) {
		return ""
	}
	return d.lf[d.starts[i]:lineEnd(d.lf, d.starts[i])]
}

// start returns the offset of line i, or the end of the text past the last line.
func (d *editor) start(i int) int {
	if i >= len(d.starts) {
		return len(d.lf)
	}
	return d.starts[i]
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// contentEnd returns the line after the content of the lines [from, to). Trailing blank lines, and trailing comments
// that are not indented more than indent, belong to the next entry.
func (d *editor) contentEnd(from, to, indent int) int {
	for ; to > from+1; to-- {
		line := d.line(to - 1)
		word := strings.TrimLeft(line, " \t")
		if word != "" && (word[0] != '#' || indentOf(line) > indent) {
			break
		}
	}
	return to
}

// insertLines inserts lines before line at.
func (d *editor) insertLines(at int, lines []string) {
	text := strings.Join(lines, "\n")
	if at >= len(d.starts) && d.lf != "" && !strings.HasSuffix(d.lf, "\n") {
		d.put(len(d.lf), len(d.lf), "\n"+text)
		return
	}
	d.put(d.start(at), d.start(at), text+"\n")
}

// step returns one level of indentation as used in the file.
func (d *editor) step() string {
	for i := range d.starts {
		line := d.line(i)
		if n := indentOf(line); n > 0 && n < len(line) && strings.IndexByte("#-*/", line[n]) < 0 {
			return line[:n]
		}
	}
	return "  "
}

// block is a mapping without brackets.
type block struct {
	indent  int
	entries []blockEntry
	end     int // the line after the block and the blank lines and comments that follow it
}

// blockEntry is one key of a block.
type blockEntry struct {
	key   string // "" for a merge key
	line  int
	colon int // offset just past the colon
	end   int // line of the next entry, or the end of the block
	value ast.Node
}

// block finds the entries of mapping a, which ends before line end.
func (d *editor) block(a ast.Node, end int) (block, error) {
	b := block{end: end}
	var pairs []*ast.MappingValueNode
	switch a := a.(type) {
	case *ast.MappingNode:
		pairs = a.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{a}
	}
	for _, pair := range pairs {
		entry, err := d.entry(pair)
		if err != nil {
			return b, err
		}
		if n := len(b.entries); n > 0 {
			if entry.line <= b.entries[n-1].line {
				return b, ErrByHand
			}
			b.entries[n-1].end = entry.line
		}
		entry.end = end
		b.indent = indentOf(d.line(entry.line))
		b.entries = append(b.entries, entry)
	}
	if len(b.entries) == 0 || b.entries[len(b.entries)-1].line >= end {
		return b, ErrByHand
	}
	return b, nil
}

// entry finds a key at the start of its line.
func (d *editor) entry(pair *ast.MappingValueNode) (blockEntry, error) {
	row, _ := position(pair.Key.GetToken())
	e := blockEntry{line: row - 1, value: pair.Value}
	if e.line < 0 || e.line >= len(d.starts) {
		return e, ErrByHand
	}
	at := d.starts[e.line] + indentOf(d.line(e.line))
	stop := lineEnd(d.lf, at)
	colon := at
	switch {
	case at < stop && (d.lf[at] == '"' || d.lf[at] == '\''):
		end, err := scanValue(d.lf, at)
		if err != nil || end > stop {
			return e, ErrByHand
		}
		e.key, colon = plainKeyText(d.lf[at:end]), end
	default:
		for colon < stop && !(d.lf[colon] == ':' && (colon+1 == stop || d.lf[colon+1] == ' ' || d.lf[colon+1] == '\t')) {
			colon++
		}
		e.key = strings.TrimRight(d.lf[at:colon], " \t")
	}
	colon += indentOf(d.lf[colon:stop])
	if colon >= stop || d.lf[colon] != ':' {
		return e, ErrByHand
	}
	if pair.Key.IsMergeKey() {
		e.key = ""
	} else if pair.Key.GetToken().Value != e.key {
		return e, ErrByHand
	}
	e.colon = colon + 1
	return e, nil
}

// root returns the root mapping. ok is false if the file has none.
func (d *editor) root() (m mapAt, ok bool, err error) {
	if d.body == nil {
		return m, false, nil
	}
	end := len(d.starts)
	for i := range d.starts {
		if strings.HasPrefix(d.line(i), "...") {
			end = i
			break
		}
	}
	at := skipBlank(d.lf, 0)
	if strings.HasPrefix(d.lf[at:], "---") {
		at = skipBlank(d.lf, at+3)
	}
	m, err = d.mapping(d.body, at, end)
	return m, err == nil, err
}

// mapAt is a mapping: flow if it is in brackets, otherwise block.
type mapAt struct {
	flow  *flow
	block block
}

// mapping finds mapping a. from is the offset of its opening bracket, if it has one.
func (d *editor) mapping(a ast.Node, from, end int) (mapAt, error) {
	if anchored, ok := a.(*ast.AnchorNode); ok && !isFlow(anchored.Value) {
		a = anchored.Value
	}
	if isFlow(a) {
		if from >= len(d.lf) || d.lf[from] != '{' {
			return mapAt{}, ErrByHand
		}
		f, err := scanFlow(d.lf, from)
		return mapAt{flow: &f}, err
	}
	b, err := d.block(a, end)
	return mapAt{block: b}, err
}

func isFlow(a ast.Node) bool {
	switch a := a.(type) {
	case *ast.MappingNode:
		return a.IsFlowStyle || a.Start != nil && a.Start.Type == token.MappingStartType
	case *ast.SequenceNode:
		return a.IsFlowStyle
	}
	return false
}
