package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// set sets the value at path, and creates missing mappings on the way.
func (d *editor) set(path []string, value *node) error {
	m, ok, err := d.root()
	if err != nil {
		return err
	}
	if !ok {
		d.insertLines(len(d.starts), renderBlock((*node)(nil).with(path, value), "", "  "))
		return nil
	}
	for i, key := range path {
		rest := value
		if i+1 < len(path) {
			rest = (*node)(nil).with(path[i+1:], value)
		}
		last := i+1 == len(path)
		if m.flow != nil {
			item := m.flow.find(key)
			switch {
			case item == nil:
				d.insertFlow(*m.flow, key, rest)
				return nil
			case last || hollow(d.tree.at(path[:i+1])):
				d.replaceFlow(*item, rest)
				return nil
			case d.lf[item.value] != '{':
				return ErrByHand
			}
			f, err := scanFlow(d.lf, item.value)
			if err != nil {
				return err
			}
			m.flow = &f
			continue
		}
		e := m.block.find(key)
		switch {
		case e == nil:
			d.insertBlock(m.block, key, rest)
			return nil
		case last || hollow(d.tree.at(path[:i+1])):
			return d.replaceBlock(m.block, *e, rest)
		}
		if m, err = d.mapping(e.value, skipBlank(d.lf, e.colon), e.end); err != nil {
			return err
		}
	}
	return nil
}

// insert appends a key to the mapping at path.
func (d *editor) insert(path []string, key string, value *node) error {
	return d.set(append(path[:len(path):len(path)], key), value)
}

// locate finds the mapping in which the last key of path is or would be.
func (d *editor) locate(path []string) (mapAt, error) {
	m, ok, err := d.root()
	if err != nil || !ok {
		return m, ErrByHand
	}
	for _, key := range path[:len(path)-1] {
		if m.flow != nil {
			item := m.flow.find(key)
			if item == nil || d.lf[item.value] != '{' {
				return m, ErrByHand
			}
			f, err := scanFlow(d.lf, item.value)
			if err != nil {
				return m, err
			}
			m.flow = &f
			continue
		}
		e := m.block.find(key)
		if e == nil {
			return m, ErrByHand
		}
		if m, err = d.mapping(e.value, skipBlank(d.lf, e.colon), e.end); err != nil {
			return m, err
		}
	}
	return m, nil
}

// remove removes the key at path.
func (d *editor) remove(path []string) error {
	m, err := d.locate(path)
	if err != nil {
		return err
	}
	key := path[len(path)-1]
	if m.flow != nil {
		for i, item := range m.flow.items {
			if item.key == key {
				d.removeFlow(*m.flow, i)
				return nil
			}
		}
		return ErrByHand
	}
	for i, e := range m.block.entries {
		if e.key != key {
			continue
		}
		from, to := e.line, d.contentEnd(e.line, e.end, m.block.indent)
		if i > 0 { // a comment above the first may apply to all
			for strings.HasPrefix(strings.TrimLeft(d.line(from-1), " \t"), "#") && indentOf(d.line(from-1)) == m.block.indent {
				from--
			}
		}
		d.removeLines(from, to)
		return nil
	}
	return ErrByHand
}

// removeLines removes the lines [from, to). If that joins two blank lines, it removes one of them.
func (d *editor) removeLines(from, to int) {
	if from > 0 && strings.TrimSpace(d.line(from-1)) == "" && strings.TrimSpace(d.line(to)) == "" {
		from--
	}
	begin := d.start(from)
	if to >= len(d.starts) && from > 0 && !strings.HasSuffix(d.lf, "\n") {
		begin-- // the file still ends without a line feed
	}
	d.put(begin, d.start(to), "")
}

// listAt finds the list at path: f if it is in brackets, otherwise items, which are entries without keys.
func (d *editor) listAt(path []string) (f *flow, items []blockEntry, indent int, err error) {
	m, err := d.locate(path)
	if err != nil {
		return nil, nil, 0, err
	}
	key := path[len(path)-1]
	if m.flow != nil {
		item := m.flow.find(key)
		if item == nil || d.lf[item.value] != '[' {
			return nil, nil, 0, ErrByHand
		}
		scanned, err := scanFlow(d.lf, item.value)
		return &scanned, nil, 0, err
	}
	e := m.block.find(key)
	if e == nil {
		return nil, nil, 0, ErrByHand
	}
	list, ok := e.value.(*ast.SequenceNode)
	if at := skipBlank(d.lf, e.colon); ok && at < len(d.lf) && d.lf[at] == '[' {
		scanned, err := scanFlow(d.lf, at)
		return &scanned, nil, 0, err
	}
	if !ok || len(list.Values) == 0 {
		return nil, nil, 0, ErrByHand
	}
	for _, value := range list.Values {
		row, _ := position(value.GetToken())
		line := d.line(row - 1)
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "- ") || row <= e.line {
			return nil, nil, 0, ErrByHand
		}
		if n := len(items); n > 0 {
			items[n-1].end = row - 1
		}
		indent = indentOf(line)
		items = append(items, blockEntry{line: row - 1, end: e.end})
	}
	return nil, items, indent, nil
}

// appendItem appends an item to a list that is not empty.
func (d *editor) appendItem(path []string, value *node) error {
	f, items, indent, err := d.listAt(path)
	if err != nil {
		return err
	}
	if f != nil {
		d.insertFlow(*f, "", value)
		return nil
	}
	last := items[len(items)-1]
	d.insertLines(d.contentEnd(last.line, last.end, indent), []string{strings.Repeat(" ", indent) + "- " + renderScalar(value, false)})
	return nil
}

// removeItem removes item i of a list.
func (d *editor) removeItem(path []string, i int) error {
	f, items, indent, err := d.listAt(path)
	switch {
	case err != nil:
		return err
	case f != nil && i < len(f.items):
		d.removeFlow(*f, i)
		return nil
	case i < len(items):
		d.removeLines(items[i].line, d.contentEnd(items[i].line, items[i].end, indent))
		return nil
	}
	return ErrByHand
}

func (b block) find(key string) *blockEntry {
	for i := range b.entries {
		if b.entries[i].key == key && key != "" {
			return &b.entries[i]
		}
	}
	return nil
}

// insertBlock appends an entry, after a blank line if the last two entries are separated by one.
func (d *editor) insertBlock(b block, key string, value *node) {
	last := b.entries[len(b.entries)-1]
	at := d.contentEnd(last.line, last.end, b.indent)
	prefix := d.line(last.line)[:b.indent]
	lines := renderBlock(&node{kind: mapping, members: []member{{key: key, value: value}}}, prefix, d.blockStep(prefix))
	if len(b.entries) > 1 {
		before := last.line
		for strings.HasPrefix(strings.TrimLeft(d.line(before-1), " \t"), "#") {
			before--
		}
		if strings.TrimSpace(d.line(before-1)) == "" {
			lines = append([]string{""}, lines...)
		}
	}
	d.insertLines(at, lines)
}

// blockStep returns one level of indentation for a block whose lines start with prefix: the file's own, or two spaces
// if that contains tabs, which YAML does not allow, or is too wide.
func (d *editor) blockStep(prefix string) string {
	if step := d.step(); strings.Trim(step, " ") == "" && len(step) <= 8 && (prefix == "" || len(step) <= len(prefix)) {
		return step
	}
	return "  "
}

// replaceBlock replaces the value of an entry. The old value must be on the line of its key, or missing; otherwise
// replaceBlock returns ErrByHand.
func (d *editor) replaceBlock(b block, e blockEntry, value *node) error {
	stop := lineEnd(d.lf, e.colon)
	from := e.colon + indentOf(d.lf[e.colon:stop])
	to := from
	if from < stop && d.lf[from] != '#' {
		end, err := d.scalarEnd(from, stop)
		if err != nil {
			return err
		}
		to = end
	} else if from, to = e.colon, e.colon; d.contentEnd(e.line, e.end, b.indent) > e.line+1 && !void(valueOfEntry(e)) {
		return ErrByHand // the value is on the lines below
	}
	if value.kind != mapping {
		lead := ""
		if from == to {
			lead = " "
		}
		d.put(from, to, lead+renderFlow(value, false))
		return nil
	}
	if to > from {
		from = e.colon
	}
	d.put(from, to, "")
	prefix := d.line(e.line)[:b.indent]
	step := d.blockStep(prefix)
	d.insertLines(e.line+1, renderBlock(value, prefix+step, step))
	return nil
}

// hollow reports whether n has no content, so that a mapping may replace it.
func hollow(n *node) bool { return void(n) || n.empty() }

// valueOfEntry returns nil if the entry has no value, and a placeholder otherwise.
func valueOfEntry(e blockEntry) *node {
	if e.value == nil || e.value.Type() == ast.NullType {
		return nil
	}
	return &node{kind: text}
}

// scalarEnd returns the offset just past the value at from, which must end before stop.
func (d *editor) scalarEnd(from, stop int) (int, error) {
	switch d.lf[from] {
	case '"', '\'', '{', '[':
		end, err := scanValue(d.lf, from)
		if err != nil || end > stop {
			return 0, ErrByHand
		}
		return end, nil
	case '&', '*', '!', '|', '>':
		return 0, ErrByHand
	}
	value := d.lf[from:stop]
	for i := 1; i < len(value); i++ {
		if value[i] == '#' && (value[i-1] == ' ' || value[i-1] == '\t') { // starts a comment (YAML 1.2.2, section 6.6)
			value = value[:i]
		}
	}
	return from + len(strings.TrimRight(value, " \t")), nil
}
