package catalog

import (
	"bytes"
	"fmt"
	"slices"

	"goblin-actor/internal/filter"
	"goblin-actor/protocol"
	"goblin-actor/protocol/toolschema"
)

// maxInvalid is the maximum number of invalid tools reported for one server.
const maxInvalid = 100

// InvalidTool is a tool with an invalid definition.
type InvalidTool struct {
	Own    string // the tool's name at the server, shortened
	own    string // the whole name
	Fault  *toolschema.Fault
	Hidden bool // the tool is not listed; if false, only its outputSchema is removed, or the server's rules list it anyway
	Output bool // only the outputSchema is invalid
}

// hides reports whether invalid tools are hidden.
func (l *parsedList) hides() bool { return l.rules.invalid == "hide" }

// toolChecks checks the tool definitions of one list.
type toolChecks struct {
	list   *parsedList
	server *Server
	known  map[string]*parsed // valid definitions of the previous list
	budget int                // for compiling schemas

	unchecked []string // tools whose arguments cannot be validated, although the configuration requires it
}

// known returns a list's valid definitions by name.
func known(kind protocol.ItemKind, old *parsedList) map[string]*parsed {
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

// examined is an item of a list, parsed and checked independently of the others.
type examined struct {
	*parsed
	err           error
	same          *parsed // the same valid definition in the previous list; nil = it was checked now
	input, output *toolschema.Fault
}

// examineAll parses all items of a list and checks tool definitions, on several processors if there are many.
func (c *toolChecks) examineAll(kind protocol.ItemKind, source [][]byte) []examined {
	all := make([]examined, len(source))
	spread(len(all), len(all), func(from, to int) {
		for i := from; i < to; i++ {
			e := &all[i]
			if e.parsed, e.err = parseOne(kind, source[i]); e.err == nil && kind == protocol.Tools && c.list.rules.invalid != "" {
				c.examine(e)
			}
		}
	})
	return all
}

// examine checks a tool's definition unless it is unchanged since it was found valid.
func (c *toolChecks) examine(e *examined) {
	if was := c.known[e.own]; was != nil && bytes.Equal(was.checked, e.item.Raw) {
		e.same = was
		return
	}
	e.input, e.output = toolschema.Check(e.item.Raw)
}

// passes reports whether the tool is listed. If invalid tools are hidden, it removes an invalid outputSchema from the
// definition.
func (c *toolChecks) passes(e examined) bool {
	p, raw, input, output := e.parsed, e.item.Raw, e.input, e.output
	switch {
	case e.same != nil:
		p.checked, p.arguments, p.compileCost = raw, e.same.arguments, e.same.compileCost
		c.compile(p, raw)
		return true
	case input != nil:
		c.found(p, InvalidTool{Fault: input, Hidden: c.list.hides()})
		if c.list.rules.compiles && !c.list.hides() {
			c.unchecked = append(c.unchecked, p.own)
		}
		return !c.list.hides()
	case output != nil:
		c.compile(p, raw)
		c.found(p, InvalidTool{Fault: output, Output: true})
		if c.list.hides() {
			withoutOutput(p)
			p.leftOut = output
		}
		return true
	}
	p.checked = raw
	c.compile(p, raw)
	return true
}

// compile compiles a valid inputSchema if the server's rules require validation of arguments and the budget is not used
// up. A schema compiled for the previous list is reused and counts toward this list's budget.
func (c *toolChecks) compile(p *parsed, raw []byte) {
	switch {
	case !c.list.rules.compiles || c.budget <= 0:
		p.arguments, p.compileCost = nil, 0
	case p.arguments == nil:
		p.arguments, p.compileCost = toolschema.Compile(raw, c.budget)
	}
	c.budget -= p.compileCost
	if c.list.rules.compiles && p.arguments == nil {
		c.unchecked = append(c.unchecked, p.own)
	}
}

// warnUnchecked warns about tools whose arguments are not validated, although the configuration requires it.
func (c *toolChecks) warnUnchecked() {
	n := len(c.unchecked)
	if n == 0 {
		return
	}
	tools := fmt.Sprintf("of %q", clip(c.unchecked[0], shown))
	if n > 1 {
		tools += fmt.Sprintf(" (and %d more)", n-1)
	}
	c.list.warnings = warn(c.list.warnings, "%s: validateArguments: arguments %s are not checked: the inputSchema is invalid or names an unknown $schema, "+
		"or the total size of the server's schemas exceeds the limit", c.server.Name, tools)
}

func withoutOutput(p *parsed) {
	if item, err := protocol.ParseItem(toolschema.WithoutOutputSchema(p.item.Raw)); err == nil {
		p.item = item
		p.links = linksOf(&p.item)
	}
}

// found records an invalid tool and, if the configuration hides invalid tools, adds a warning about it. Both are
// limited to maxInvalid per list.
func (c *toolChecks) found(p *parsed, t InvalidTool) {
	l := c.list
	t.own, t.Own = p.own, clip(p.own, shown)
	if len(l.invalid) < maxInvalid {
		l.invalid = append(l.invalid, t)
	}
	if !l.hides() || len(l.invalidWarnings) >= maxInvalid { // a tool that the configuration shows needs no warning
		return
	}
	how := "is listed without its outputSchema, which is invalid"
	if t.Hidden {
		how = "is hidden because its definition is invalid"
	}
	l.invalidWarnings = append(l.invalidWarnings, toolWarning{p.own, fmt.Sprintf("%s: tool %q %s: %v", c.server.Name, t.Own, how, t.Fault)})
}

// toolWarning is a warning about an invalid tool.
type toolWarning struct {
	own, text string
}

// warningsFor returns the warnings about the list under the server's rules. A tool that the rules hide needs no warning. The
// rules may change without the list, so the warnings are not selected when the list is parsed.
func (l *parsedList) warningsFor(server *Server) []string {
	warnings := slices.Clip(l.warnings)
	for _, w := range l.invalidWarnings {
		if !filter.Hides(&server.Rules.Tools.Filter, w.own) {
			warnings = warn(warnings, "%s", w.text)
		}
	}
	return warnings
}

// Invalid returns the server's tools with invalid definitions, except those its rules hide: at most 100, in list order.
func (s *Snapshot) Invalid(server string) (list []InvalidTool) {
	o := s.byName[server]
	if o == nil || o.lists[protocol.Tools] == nil {
		return nil
	}
	for _, t := range o.lists[protocol.Tools].invalid {
		if !o.hides(protocol.Tools, t.own) {
			list = append(list, t)
		}
	}
	return list
}

// explainHidden adds to the fault why a tool is hidden if the name refers to one: by its own name, with the server's prefix,
// or qualified as in SERVER:NAME. In a view limited to a project or rights it adds nothing: the tool may be outside.
func (v *View) explainHidden(name string, fault *protocol.Fault) {
	if v.limited() {
		return
	}
	for _, server := range v.servers {
		for _, t := range v.snapshot.Invalid(server.Name) {
			if t.Hidden && v.snapshot.means(name, server, t.own) {
				fault.Message += fmt.Sprintf(" (server %s hides it because its definition is invalid: %v)", server.Name, t.Fault)
				return
			}
		}
	}
}

// means reports whether the name could refer to that tool of the server.
func (s *Snapshot) means(name string, server *Server, own string) bool {
	if name == own || name == plainName(&item{server: server, name: own, prefixed: true}, s.naming) {
		return true
	}
	return slices.ContainsFunc(separators[:], func(separator string) bool { return name == server.Name+separator+own })
}
