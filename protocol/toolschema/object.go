package toolschema

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/protocol/rawjson"
)

// objectRules holds the keywords of a schema for objects.
type objectRules struct {
	members                      map[string]objectMember // those in properties or required
	required                     []string
	patterns                     []patternMember
	additional                   *node
	closed                       bool // additionalProperties: false
	names                        *node
	dependents                   []dependent
	minProperties, maxProperties int // maxProperties -1 means no maximum
}

type objectMember struct {
	node     *node
	known    bool // it is in properties
	required int  // its position in required, starting at 1; 0 if it is optional
}

type patternMember struct {
	pattern *pattern
	node    *node
}

// dependent holds the requirements that apply if a member is present.
type dependent struct {
	name     string
	required []string
	node     *node // schema of the whole object
}

// namesPerWork is the number of required names checked for one unit of work.
const namesPerWork = 8

// object checks the members of an object.
func (c *argumentCheck) object(o *objectRules, at rawjson.Span) verdict {
	v := fits
	if c.left -= len(o.required) / namesPerWork; c.left <= 0 {
		return unsure
	}
	var few [16]bool
	seen := few[:min(len(o.required), len(few))]
	if len(o.required) > len(few) {
		seen = make([]bool, len(o.required))
	}
	count := 0
	for w := rawjson.WalkMembers(c.raw, at); w.Next(); count++ {
		key := w.Key
		if bytes.IndexByte(key, '\\') >= 0 {
			decoded, ok := rawjson.AppendUnescaped(nil, key)
			if !ok {
				return unsure
			}
			key = decoded
		}
		m := o.members[string(key)]
		if m.required > 0 {
			seen[m.required-1] = true
		}
		c.path = append(c.path, step{key: w.Key})
		v = v.and(c.member(o, m, key, w.Value))
		c.path = c.path[:len(c.path)-1]
		if c.left--; c.ended(v) {
			return v.and(unsure)
		}
	}
	for i, name := range o.required {
		if seen[i] {
			continue
		}
		if v = c.missing(name, "the required member is missing", o.members[name].node); c.ended(v) {
			return v
		}
	}
	if count < o.minProperties || o.maxProperties >= 0 && count > o.maxProperties {
		v = c.fault(fmt.Sprintf("want %s, found %d", rangeText(o.minProperties, o.maxProperties, "members"), count))
	}
	return v.and(c.dependents(o, at))
}

// missing records a missing member.
func (c *argumentCheck) missing(name, why string, n *node) verdict {
	if c.quiet > 0 {
		return refuted
	}
	if n != nil && n.types != 0 {
		why += ": want " + n.types.String()
	}
	quoted := rawjson.Quote(name)
	c.path = append(c.path, step{key: quoted[1 : len(quoted)-1]})
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.fault(why)
}

// member checks one member of an object by its decoded key.
func (c *argumentCheck) member(o *objectRules, m objectMember, key []byte, value rawjson.Span) verdict {
	v, known := fits, m.known
	if known {
		v = c.apply(m.node, value)
	}
	for _, p := range o.patterns {
		switch c.match(p.pattern, key) {
		case fits:
			known, v = true, v.and(c.apply(p.node, value))
		case unsure:
			known, v = true, v.and(unsure)
		}
	}
	if !known && o.closed {
		if c.quiet > 0 {
			return refuted
		}
		return c.fault("the member is not allowed" + o.allowed())
	}
	if !known {
		v = v.and(c.apply(o.additional, value))
	}
	if o.names != nil {
		v = v.and(c.keyName(o.names, key))
	}
	return v
}

// keyName checks the key of a member against propertyNames.
func (c *argumentCheck) keyName(names *node, key []byte) verdict {
	quoted := rawjson.Quote(string(key))
	inner := argumentCheck{raw: quoted, schema: c.schema, left: c.left, depth: c.depth, quiet: 1}
	v := inner.apply(names, rawjson.Whole(quoted))
	if c.left = inner.left; v == refuted {
		c.fault("propertyNames does not allow the member's name")
	}
	return v
}

// allowed lists the members that an object may have.
func (o *objectRules) allowed() string {
	const most = 20
	var names []string
	for name, m := range o.members {
		if m.known {
			names = append(names, clipText(name, 64))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return ": want one of " + strings.Join(names, ", ") + more
}

// dependents checks the requirements that depend on the presence of a member.
func (c *argumentCheck) dependents(o *objectRules, at rawjson.Span) verdict {
	v := fits
	for _, d := range o.dependents {
		if !c.pay(at) {
			return v.and(unsure)
		}
		if !rawjson.Member(c.raw, at, d.name).Present() {
			continue
		}
		for _, name := range d.required {
			if !c.pay(at) {
				return v.and(unsure)
			}
			if !rawjson.Member(c.raw, at, name).Present() {
				if v = c.missing(name, "the member is missing; it is required if "+clipText(d.name, 64)+" is present", nil); c.ended(v) {
					return v
				}
			}
		}
		v = v.and(c.apply(d.node, at))
	}
	return v
}
