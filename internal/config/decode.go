package config

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxFindings is the maximum number of errors, and of warnings, in a report.
const maxFindings = 100

// decoder reads a syntax tree into the structs that declare the keys.
type decoder struct {
	file   string
	lines  [][]byte  // the lines of the file
	base   string    // the directory of the file; "" if unknown
	read   envReader // reads files of variables; nil if no file may be read
	files  []string  // other files that were read or could not be read
	env    func(string) (string, bool)
	may    lookups
	report Report
	more   [2]int // number of errors and warnings beyond maxFindings

	reported map[string]bool // paths with a reported problem
	foreign  bool            // the file belongs to another program; see isForeign
	json     bool            // the file is written as JSON
	listen   []string        // listen addresses of the file, normalized by loopbackName
	ignored  []ignoredKey

	unitsExplained bool // a warning has explained how numbers without unit are read
	looked         int  // number of foreign keys compared with known keys
	ignoredMore    int  // number of ignored keys that are not in ignored

	server   bool     // inside an entry of mcpServers
	entry    string   // the path of that entry
	problems []string // why that server is misconfigured

	secrets map[string]bool // values to hide in output
}

// place is a position in the file: path for messages, schema for tables (mcpServers.*.timeout).
type place struct{ path, schema string }

func (p place) key(key string) place {
	return place{join(p.path, key), strings.TrimPrefix(p.schema+"."+key, ".")}
}

func (p place) entry(name string) place { return place{join(p.path, name), p.schema + ".*"} }
func (p place) item(i int) place        { return place{fmt.Sprintf("%s[%d]", p.path, i), p.schema} }

func (d *decoder) fault(line, column int, path, message, hint string) {
	d.reported[path] = true
	d.say(&d.report.Faults, &d.more[0], &Finding{Line: line, Column: column, Path: path, Message: message, Hint: hint})
}

func (d *decoder) warn(line, column int, path, message, hint string) {
	d.say(&d.report.Warnings, &d.more[1], &Finding{Line: line, Column: column, Path: path, Message: message, Hint: hint})
}

func (d *decoder) say(to *[]*Finding, more *int, f *Finding) {
	if len(*to) >= maxFindings {
		*more++
		return
	}
	f.File = d.file
	f.Column = d.column(f.Line, f.Column)
	*to = append(*to, f)
}

// column returns column, moved to the first character of the line if the library points at the white space before it, as it does
// with tabs.
func (d *decoder) column(line, column int) int {
	if line < 1 || line > len(d.lines) {
		return column
	}
	blanks := len(d.lines[line-1]) - len(bytes.TrimLeft(d.lines[line-1], " \t"))
	if blanks == len(d.lines[line-1]) {
		return column
	}
	return max(column, blanks+1)
}

// last returns the last key of path.
func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// finish sorts the report and adds the number of findings that it leaves out.
func (d *decoder) finish() Report {
	d.warnIgnored()
	for i, list := range []*[]*Finding{&d.report.Faults, &d.report.Warnings} {
		slices.SortStableFunc(*list, func(a, b *Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		if d.more[i] > 0 {
			*list = append(*list, &Finding{File: d.file, Message: fmt.Sprintf("and %d more", d.more[i])})
		}
	}
	return d.report
}

// record stores the origin of the value at path.
func (d *decoder) record(path string, n *node, refs []reference) {
	o := origin{file: d.file, line: n.line, column: n.column, refs: refs}
	if n.scalar() || n.empty() {
		o.written = n.text
	}
	d.report.origins[path] = o
}

// complain reports a problem with the value at path. If it belongs to a server and comes from a reference, or is an
// unsupported transport (such as ws) in another program's file, only that server is misconfigured. Otherwise the
// problem is an error. Only the first problem at a path is reported, because it usually causes the others.
func (d *decoder) complain(path, message, hint string) {
	if d.reported[path] {
		return
	}
	o := d.report.origins[path]
	foreign := d.foreign && (path == d.entry+".type" || path == d.entry+".url")
	if d.server && (len(o.refs) > 0 || foreign) {
		d.misconfigure(o, path, message, hint)
		return
	}
	d.fault(o.line, o.column, path, message, hint)
}

// misconfigure marks the current server as misconfigured.
func (d *decoder) misconfigure(o origin, path, message, hint string) {
	d.reported[path] = true
	d.problems = append(d.problems, strings.TrimPrefix(path, d.entry+".")+": "+message)
	d.warn(o.line, o.column, path, message+"; the server is misconfigured; other servers run", hint)
}

// fields reads the members of n into the fields of struct v that belong to section.
func (d *decoder) fields(v reflect.Value, section string, n *node, at place) {
	if !d.wantMapping(n, at) {
		return
	}
	for _, m := range n.members {
		here := at.key(m.key)
		f, one, known := fieldFor(v.Type(), section, m.key)
		switch {
		case known:
			d.value(v.FieldByIndex(f.index), f, one, m.value, here)
		case section == "" && isSection(v.Type(), m.key):
			d.fields(v, m.key, m.value, here)
		default:
			d.unknown(v.Type(), section, m, at)
		}
	}
}

// wantMapping reports whether n is a mapping. An empty value is not, but causes no error.
func (d *decoder) wantMapping(n *node, at place) bool {
	switch n.kind {
	case mapping:
		return true
	case missing, null, invalidKind:
		return false
	}
	d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want a mapping", n.kind), "")
	return false
}

// unknown reports a key that struct type t does not have.
func (d *decoder) unknown(t reflect.Type, section string, m member, at place) {
	path := join(at.path, m.key)
	root := at.schema == ""
	foreign := foreignKeys[strings.TrimSuffix(at.schema, ".*")]
	switch {
	case root && m.key == "$schema": // read by editors only
		return
	case root && slices.Contains(laterSections, m.key):
		d.warn(m.line, m.column, path, "accepted, but has no effect yet", "leave it out until the gateway supports it")
		return
	case slices.Contains(foreign, m.key):
		d.ignore(m, last(at.path))
		return
	case removedKeys[at.key(m.key).schema] != "":
		d.warn(m.line, m.column, path, "this key no longer exists and has no effect", "remove it; "+removedKeys[at.key(m.key).schema])
		return
	case isRefused(at, m.key):
		d.fault(m.line, m.column, path, "not supported yet; the gateway refuses to run without the protection that this key requests", "remove it and everything that depends on it")
		return
	}
	if len(d.report.Faults) >= maxFindings {
		d.fault(m.line, m.column, path, "unknown key", "") // only counted, because finding the nearest key is slow
		return
	}
	known := keysOf(t, section)
	if root {
		if isDesktopFile(d.file) && Nearest(m.key, known) == "" && !strings.HasPrefix(m.key, "/") {
			d.ignore(m, "")
			return
		}
		known = append(known, laterSections...)
		if hint := strayServer(m); hint != "" {
			d.fault(m.line, m.column, path, "unknown key", hint)
			return
		}
	}
	d.fault(m.line, m.column, path, "unknown key", unknownKeyHint(m.key, known))
}

// value reads n into v, the field that f describes.
func (d *decoder) value(v reflect.Value, f field, one bool, n *node, at place) {
	if n.kind == invalidKind || n.empty() && n.text != "~" {
		d.rejectEmpty(n, at)
		return // a key with no value is treated as absent
	}
	d.record(at.path, n, nil)
	switch p := v.Addr().Interface().(type) {
	case *[]Server:
		d.servers(p, n, at)
	case *[]Project:
		d.projects(p, n, at)
	case *[]ForwardHeader:
		d.forwardHeaders(p, n, at)
	case *[]Role:
		d.roles(p, n, at)
	case *[]Binding:
		d.bindings(p, n, at)
	case *TLS:
		d.tls(p, n, at)
	case *Policy:
		p.Present = true
		d.fields(v, "", n, at)
	case *Cluster:
		p.Present = true
		d.fields(v, "", n, at)
	case *[]string:
		d.list(p, one || f.single, one, n, at)
	case *map[string]string:
		d.texts(p, n, at)
	case *string:
		d.word(p, f, n, at)
	case *bool:
		d.boolean(p, n, at)
	case *int:
		d.integer(p, f, n, at)
	case *int64:
		d.size(p, f, n, at)
	case *time.Duration:
		d.duration(p, f, n, at)
	default:
		d.fields(v, "", n, at)
	}
}

func (d *decoder) forwardHeaders(to *[]ForwardHeader, n *node, at place) {
	if n.kind != list {
		d.fault(n.line, n.column, at.path, fmt.Sprintf("got %s, want a list", n.kind), "write [{from: X-User-Token}]")
		return
	}
	for i, item := range n.items {
		here := at.item(i)
		var h ForwardHeader
		d.record(here.path, item, nil)
		d.fields(reflect.ValueOf(&h).Elem(), "", item, here)
		if h.From == "" && item.kind == mapping {
			where := here.path
			if from := join(where, "from"); d.written(from) {
				where = from
			}
			d.complain(where, "from is missing", "name the client's header, for example from: X-User-Token")
		}
		h.To = cmp.Or(h.To, h.From)
		*to = append(*to, h)
	}
}
