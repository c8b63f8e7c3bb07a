package tui

import (
	"fmt"
	"strings"
	"time"
)

// scope restricts a view to a part of the gateway. The zero value is the whole gateway.
type scope struct {
	server  string
	session string
	project string
	call    string // callKey of a call
	actor   string // status.Actor.Name
}

// view is a kind in a scope, with a table for each of its panels.
type view struct {
	kind *Kind
	scope
	up     *view // the view one level up; nil = this is the overview
	panels []*panel
	focus  int      // index of the panel that keys act on
	table  *table   // of that panel
	last   *Picture // the Picture from which the rows were computed; nil = none yet
}

// panel is a part of a view: the rows of one kind.
type panel struct {
	kind  *Kind
	table *table
}

func newView(k *Kind, server, session string) *view {
	return newViewOf(k, scope{server: server, session: session})
}

func newViewOf(k *Kind, of scope) *view {
	v := &view{kind: k, scope: of}
	parts := k.Panels
	if parts == nil {
		parts = []*Kind{k}
	}
	for _, part := range parts {
		v.panels = append(v.panels, &panel{part, newTable(part)})
	}
	v.table = v.panels[0].table
	v.narrow()
	return v
}

// part returns the kind of the rows that keys act on.
func (v *view) part() *Kind { return v.panels[v.focus].kind }

// selectPanel makes the i-th panel the one that keys act on.
func (v *view) selectPanel(i int) {
	v.focus = i
	v.table = v.panels[i].table
}

// narrow restricts the tables to the rows of the view's server, session and project.
func (v *view) narrow() {
	for _, p := range v.panels {
		p.table.restrict(nil)
		if v.server != "" || v.session != "" || v.project != "" {
			p.table.restrict(func(r *Row) bool {
				return (v.server == "" || r.Server == v.server) && (v.session == "" || r.Session == v.session) && (v.project == "" || r.Project == v.project)
			})
		}
	}
}

// show updates the rows from a newer Picture.
func (v *view) show(p *Picture, now time.Time) {
	if v.last == p {
		return
	}
	for _, part := range v.panels {
		if v.last != nil && part.kind.Same != nil && part.kind.Same(v.last, p) {
			continue
		}
		part.table.update(part.kind.rows(p, v.scope), now)
	}
	v.last = p
}

// forget drops the rows, which are made again when the view is shown. The history has many views, and a view many rows.
func (v *view) forget() {
	for _, p := range v.panels {
		p.table.forget()
	}
	v.last = nil
}

// touch records that the user pressed a key or used the mouse. Rows then keep their places for a while.
func (v *view) touch(now time.Time) {
	for _, p := range v.panels {
		p.table.touched = now
	}
}

// title returns the title of a panel, such as "tools(github)[37] </issue>".
func (v *view) title(p *panel) string {
	var b strings.Builder
	b.WriteString(p.kind.Name)
	title := ""
	if p.kind.TitleOf != nil && v.last != nil {
		title = p.kind.TitleOf(v.last, v.scope)
	}
	if of := v.of(); of != "" && title == "" {
		fmt.Fprintf(&b, "(%s)", of)
	}
	t := p.table
	fmt.Fprintf(&b, "[%d]", len(t.shown))
	switch {
	case title != "":
		b.WriteString(": " + title)
	case p.kind.Title != "":
		b.WriteString(" " + p.kind.Title)
	}
	if t.query != "" {
		not := ""
		if t.invert {
			not = "!"
		}
		fmt.Fprintf(&b, " </%s%s>", not, plain(t.query))
	}
	if t.onlyFaults {
		b.WriteString(" <faults>")
	}
	if p.kind.Levels {
		b.WriteString(" level ≥ " + levels[t.minRank])
		if t.wraps {
			b.WriteString("  wrap")
		}
		if t.following() {
			b.WriteString("  follows")
		}
	}
	return b.String()
}

// pathMark separates the views of a path.
const pathMark = " › "

// crumb returns the view's part of the path in the first line, such as "github" or "tools".
func (v *view) crumb() string {
	var parts []string
	if v.server != "" && v.kind != callKind && (v.up == nil || v.up.server != v.server) {
		parts = append(parts, plain(v.server))
	}
	switch {
	case v.kind == callKind:
		parts = append(parts, "call "+callItem(v.call))
	case v.kind == actorKind:
		parts = append(parts, plain(shortActor(v.actor)))
	case v.session != "":
		parts = append(parts, plain(v.session))
	case v.project != "":
		parts = append(parts, plain(v.project))
	case v.kind != backendsKind || len(parts) == 0: // a server's page (backendsKind) is already named after its server
		parts = append(parts, v.kind.Name)
	}
	return strings.Join(parts, pathMark)
}

// path returns the views from the overview down to v.
func (v *view) path() string {
	if v.up == nil {
		return v.crumb()
	}
	return v.up.path() + pathMark + v.crumb()
}

func (v *view) of() string {
	return plain(strings.Join(strings.Fields(v.server+" "+v.session+" "+v.project), " "))
}
