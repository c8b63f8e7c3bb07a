package catalog

import (
	"bytes"
	"fmt"
	"slices"

	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
	"goblin-actor/protocol/toolschema"
)

// maxInvalid is how many invalid tools of one server are named.
const maxInvalid = 100

// InvalidTool is a tool of a server whose definition is not valid.
type InvalidTool struct {
	Own    string // the server's name for it, shortened
	Fault  *toolschema.Fault
	Hidden bool // the tool is not listed; otherwise only its outputSchema is, or the server's rules show it
	Output bool // the fault is in the outputSchema alone
}

// hides reports whether invalid tools are left out.
func (l *lot) hides() bool { return l.rules.invalid == "hide" }

// toolChecks checks the definitions of one list.
type toolChecks struct {
	lot    *lot
	server *Server
	known  map[string]*parsed // those of the list before that were valid
	budget int                // for compiling schemas

	unchecked []string // tools whose calls would have to be checked and cannot be
}

// known returns the valid definitions of a list by their names.
func known(kind protocol.ItemKind, old *lot) map[string]*parsed {
	if kind != protocol.Tools || old == nil {
		return nil
	}
	valid := make(map[string]*parsed, len(old.items))
	for _, p := range old.items {
		if p.checked != nil {
			valid[p.own] = p
		}
	}
	return valid
}

// examined is one item of a list, parsed and checked without regard to the others.
type examined struct {
	*parsed
	err           error
	same          *parsed // the same definition in the list before, which was valid; nil = it was checked now
	input, output *toolschema.Fault
}

// examineAll parses all items of a list, on several processors if there are many.
func (c *toolChecks) examineAll(kind protocol.ItemKind, source [][]byte) []examined {
	all := make([]examined, len(source))
	spread(len(all), len(all), func(from, to int) {
		for i := from; i < to; i++ {
			e := &all[i]
			if e.parsed, e.err = parseOne(kind, source[i]); e.err == nil && kind == protocol.Tools && c.lot.rules.invalid != "" {
				c.examine(e)
			}
		}
	})
	return all
}

// examine checks a tool's definition unless it is the same as before.
func (c *toolChecks) examine(e *examined) {
	if was := c.known[e.own]; was != nil && bytes.Equal(was.checked, e.item.Raw) {
		e.same = was
		return
	}
	e.input, e.output = toolschema.Check(e.item.Raw)
}

// passes reports whether the tool is to be listed. It takes an invalid outputSchema out of the definition where invalid tools are hidden.
func (c *toolChecks) passes(e examined) bool {
	p, raw, input, output := e.parsed, e.item.Raw, e.input, e.output
	switch {
	case e.same != nil:
		p.checked, p.arguments, p.compileCost = raw, e.same.arguments, e.same.compileCost
		c.compile(p, raw)
		return true
	case input != nil:
		c.found(p, InvalidTool{Fault: input, Hidden: c.lot.hides()})
		if c.lot.rules.compiles && !c.lot.hides() {
			c.unchecked = append(c.unchecked, p.own)
		}
		return !c.lot.hides()
	case output != nil:
		c.compile(p, raw)
		c.found(p, InvalidTool{Fault: output, Output: true})
		if c.lot.hides() {
			withoutOutput(p)
			p.leftOut = output
		}
		return true
	}
	p.checked = raw
	c.compile(p, raw)
	return true
}

// compile compiles the valid inputSchema of a tool if the server's rules want its calls checked. A schema that was compiled before stays, and
// counts towards the budget of this list.
func (c *toolChecks) compile(p *parsed, raw []byte) {
	switch {
	case !c.lot.rules.compiles || c.budget <= 0:
		p.arguments, p.compileCost = nil, 0
	case p.arguments == nil:
		p.arguments, p.compileCost = toolschema.Compile(raw, c.budget)
	}
	c.budget -= p.compileCost
	if c.lot.rules.compiles && p.arguments == nil {
		c.unchecked = append(c.unchecked, p.own)
	}
}

// warnUnchecked warns of the tools whose calls are not checked although the configuration wants it.
func (c *toolChecks) warnUnchecked() {
	n := len(c.unchecked)
	if n == 0 {
		return
	}
	tools := fmt.Sprintf("of %q", clip(c.unchecked[0], shown))
	if n > 1 {
		tools += fmt.Sprintf(" and %d other tools", n-1)
	}
	c.lot.warnings = warn(c.lot.warnings, "%s: validateArguments: arguments %s are not checked: the inputSchema is invalid, follows an unknown $schema, "+
		"or the server's schemas are too large together", c.server.Name, tools)
}

func withoutOutput(p *parsed) {
	if item, err := protocol.ParseItem(toolschema.WithoutOutputSchema(p.item.Raw)); err == nil {
		p.item = item
		p.links = linksOf(&p.item)
	}
}

// found remembers an invalid tool, and warns of it.
func (c *toolChecks) found(p *parsed, t InvalidTool) {
	l := c.lot
	t.Own = clip(p.own, shown)
	if len(l.invalid) < maxInvalid {
		l.invalid = append(l.invalid, t)
	}
	if !l.hides() || filter.Hides(&c.server.Rules.Tools.Filter, p.own) { // no user misses what the configuration shows or hides itself
		return
	}
	how := "is listed without its outputSchema, which is invalid"
	if t.Hidden {
		how = "is hidden because its definition is invalid"
	}
	l.warnings = warn(l.warnings, "%s: tool %q %s: %v", c.server.Name, t.Own, how, t.Fault)
}

// Invalid returns the server's tools with invalid definitions, without those that its rules keep from clients: at most 100, in the order
// of its list.
func (s *Snapshot) Invalid(server string) (list []InvalidTool) {
	o := s.byName[server]
	if o == nil || o.lots[protocol.Tools] == nil {
		return nil
	}
	for _, t := range o.lots[protocol.Tools].invalid {
		if !o.hides(protocol.Tools, t.Own) {
			list = append(list, t)
		}
	}
	return list
}

// explainHidden says in the fault why a tool is hidden that the name means: the server's own name, that with the prefix, or SERVER:NAME in any
// spelling. A view that is limited to a project or to rights says nothing: the tool may be outside of them.
func (v *View) explainHidden(name string, fault *protocol.Fault) {
	if v.limited() {
		return
	}
	for _, server := range v.servers {
		for _, t := range v.snapshot.Invalid(server.Name) {
			if t.Hidden && v.snapshot.means(name, server, t.Own) {
				fault.Message += fmt.Sprintf(" (server %s hides it because its definition is invalid: %v)", server.Name, t.Fault)
				return
			}
		}
	}
}

// means reports whether the name could be that of a server's tool that has none of its own in the catalog.
func (s *Snapshot) means(name string, server *Server, own string) bool {
	if name == own || name == plainName(&item{server: server, name: own, prefixed: true}, s.naming) {
		return true
	}
	return slices.ContainsFunc(separators[:], func(separator string) bool { return name == server.Name+separator+own })
}
