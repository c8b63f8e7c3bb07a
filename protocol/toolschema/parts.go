package toolschema

import "goblin-actor/protocol/rawjson"

// parts holds the subschemas that apply to the same value.
type parts struct {
	ref                   *node
	all, any, one         []*node
	not                   *node
	hasNot, hasIf         bool // the node may be nil, which matches everything
	when, then, otherwise *node
}

// tried is like apply, but records no faults. It is for a schema that need not match, such as one of several branches.
func (c *argumentCheck) tried(n *node, at rawjson.Span) verdict {
	c.quiet++
	v := c.apply(n, at)
	c.quiet--
	return v
}

// combined checks the value against all subschemas.
func (c *argumentCheck) combined(p *parts, at rawjson.Span) verdict {
	v := c.apply(p.ref, at)
	for _, one := range p.all {
		v = v.and(c.apply(one, at))
	}
	if len(p.any) > 0 {
		v = v.and(c.anyOf(p.any, at))
	}
	if len(p.one) > 0 {
		v = v.and(c.oneOf(p.one, at))
	}
	if p.hasNot {
		switch c.tried(p.not, at) {
		case fits:
			v = c.fault(`want a value that does not match the schema under "not"`)
		case unsure:
			v = v.and(unsure)
		}
	}
	if p.hasIf {
		switch c.tried(p.when, at) {
		case fits:
			v = v.and(c.apply(p.then, at))
		case refuted:
			v = v.and(c.apply(p.otherwise, at))
		default:
			v = v.and(unsure)
		}
	}
	return v
}

func (c *argumentCheck) anyOf(branches []*node, at rawjson.Span) verdict {
	if len(branches) == 1 {
		return c.apply(branches[0], at)
	}
	best := refuted
	for _, one := range branches {
		if best = min(best, c.tried(one, at)); best == fits {
			return fits
		}
	}
	if best == refuted {
		return c.fault(`want a value that fits one of the schemas under "anyOf"` + typesUnder(branches) + "; found " + rawjson.TypeName(c.raw, at))
	}
	return best
}

func (c *argumentCheck) oneOf(branches []*node, at rawjson.Span) verdict {
	fitting, possible := 0, 0
	for _, one := range branches {
		switch c.tried(one, at) {
		case fits:
			fitting++
		case unsure:
			possible++
		}
	}
	switch {
	case fitting > 1:
		return c.fault(`want a value that fits exactly one of the schemas under "oneOf"; the value fits several`)
	case fitting+possible == 0:
		return c.fault(`want a value that fits one of the schemas under "oneOf"` + typesUnder(branches) + "; found " + rawjson.TypeName(c.raw, at))
	case possible > 0:
		return unsure
	}
	return fits
}

// typesUnder lists the types of the branches, if each branch has some.
func typesUnder(branches []*node) string {
	var all jsonTypes
	for _, n := range branches {
		if n == nil || n.types == 0 {
			return ""
		}
		all |= n.types
	}
	return " (" + all.String() + ")"
}
