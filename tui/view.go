package tui

import (
	"fmt"
	"strings"
	"time"
)

// view is a kind, restricted to a server or a session or not at all, with its table.
type view struct {
	kind    *Kind
	server  string // "" = all
	session string // "" = all
	table   *table
	last    *Picture // the Picture from which the rows were computed; nil = none yet
}

func newView(k *Kind, server, session string) *view {
	v := &view{kind: k, server: server, session: session, table: newTable(k)}
	v.narrow()
	return v
}

// narrow restricts the table to the rows of the view's server and session.
func (v *view) narrow() {
	v.table.keep = nil
	if v.server != "" || v.session != "" {
		v.table.keep = func(r *Row) bool {
			return (v.server == "" || r.Server == v.server) && (v.session == "" || r.Session == v.session)
		}
	}
}

// show updates the rows from a newer Picture.
func (v *view) show(p *Picture, now time.Time) {
	if v.last == p || v.last != nil && v.kind.Same != nil && v.kind.Same(v.last, p) {
		return
	}
	v.last = p
	v.table.update(v.kind.Rows(p), now)
}

// title returns the view's title, such as "tools(github)[37] </issue>".
func (v *view) title() string {
	var b strings.Builder
	b.WriteString(v.kind.Name)
	if of := v.of(); of != "" {
		fmt.Fprintf(&b, "(%s)", of)
	}
	fmt.Fprintf(&b, "[%d]", len(v.table.shown))
	if v.table.query != "" {
		not := ""
		if v.table.invert {
			not = "!"
		}
		fmt.Fprintf(&b, " </%s%s>", not, plain(v.table.query))
	}
	if v.table.onlyFaults {
		b.WriteString(" <faults>")
	}
	return b.String()
}

// crumb returns the view's name for the trail, such as "tools(github)".
func (v *view) crumb() string {
	if of := v.of(); of != "" {
		return v.kind.Name + "(" + of + ")"
	}
	return v.kind.Name
}

func (v *view) of() string { return plain(strings.TrimSpace(v.server + " " + v.session)) }
