package config

import "strings"

func (f flow) find(key string) *flowItem {
	for i := range f.items {
		if f.items[i].key == key {
			return &f.items[i]
		}
	}
	return nil
}

// replaceFlow replaces the value of an item.
func (d *editor) replaceFlow(item flowItem, value *node) {
	lead := ""
	if item.value == item.end && d.lf[item.end-1] == ':' {
		lead = " "
	}
	d.put(item.value, item.end, lead+d.inBrackets(value, d.lineIndent(item.start), strings.Contains(d.lf[:item.start], "\n")))
}

// lineIndent returns the indentation of the line at offset at.
func (d *editor) lineIndent(at int) string {
	line := d.lf[strings.LastIndexByte(d.lf[:at], '\n')+1:]
	return line[:indentOf(line[:min(len(line), at+1)])]
}

// quotes reports whether keys are quoted, as in JSON.
func (d *editor) quotes() bool {
	at := skipBlank(d.lf, 0)
	if at >= len(d.lf) || d.lf[at] != '{' {
		return false
	}
	at = skipBlank(d.lf, at+1)
	return at < len(d.lf) && (d.lf[at] == '"' || d.lf[at] == '}')
}

// inBrackets renders a value for use inside brackets. lines allows several lines.
func (d *editor) inBrackets(value *node, indent string, lines bool) string {
	if lines && d.quotes() {
		return renderJSON(value, indent, d.step())
	}
	return renderFlow(value, d.quotes())
}

// insertFlow appends an item, on a separate line if the others are.
func (d *editor) insertFlow(f flow, key string, value *node) {
	multi := strings.Contains(d.lf[f.open:f.close], "\n")
	indent := d.lineIndent(f.open) + d.step()
	if n := len(f.items); n > 0 {
		multi = strings.Contains(d.lf[f.open:f.items[n-1].start], "\n")
		indent = d.lineIndent(f.items[n-1].start)
	} else if strings.Contains(d.lf[:f.open], "\n") && d.quotes() || strings.TrimSpace(d.lf[:f.open]) == "" {
		multi = true
	}
	item := d.inBrackets(value, indent, multi)
	if key != "" {
		item = renderKey(key, d.quotes()) + ": " + item
	}
	trailing := false
	if n := len(f.items); n > 0 {
		trailing = f.items[n-1].comma >= 0
		if !trailing {
			d.put(f.items[n-1].end, f.items[n-1].end, ",")
		}
		if !multi {
			at := max(f.items[n-1].end, f.items[n-1].comma+1)
			d.put(at, at, " "+item)
			return
		}
	} else if !multi {
		d.put(f.open+1, f.open+1, item)
		return
	}
	tail := len(strings.TrimRight(d.lf[:f.close], " \t\n"))
	if trailing {
		item += ","
	}
	item = "\n" + indent + item
	if !strings.Contains(d.lf[tail:f.close], "\n") {
		item += "\n" + d.lineIndent(f.open)
		d.put(tail, f.close, item)
		return
	}
	d.put(tail, tail, item)
}

// removeFlow removes item i and the comma after it or, if there is none, the comma before it. If only a comment or
// nothing is left on the line, it removes the line.
func (d *editor) removeFlow(f flow, i int) {
	item := f.items[i]
	from, to := item.start, item.end
	if item.comma >= 0 {
		to = item.comma + 1
	} else if i > 0 {
		d.put(f.items[i-1].comma, f.items[i-1].comma+1, "")
	}
	lineStart := strings.LastIndexByte(d.lf[:from], '\n') + 1
	own := strings.TrimSpace(d.lf[lineStart:from]) == "" && lineStart > f.open
	rest := d.lf[to:lineEnd(d.lf, to)]
	switch {
	case own && (strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimSpace(rest), "#")):
		from, to = lineStart, min(len(d.lf), lineEnd(d.lf, to)+1)
	case i+1 < len(f.items) && !strings.Contains(d.lf[to:f.items[i+1].start], "\n"):
		to = f.items[i+1].start
	case i > 0 && !strings.Contains(d.lf[f.items[i-1].comma:from], "\n"):
		from = f.items[i-1].comma + 1
	}
	d.put(from, to, "")
}
