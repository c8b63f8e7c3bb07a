package toolschema

import (
	"bytes"
	"fmt"

	"goblin-actor/protocol/rawjson"
)

// arrayRules holds the keywords of a schema for arrays.
type arrayRules struct {
	prefix                   []*node
	items                    *node // schema of the elements after prefix
	contains                 *node
	hasContains              bool // contains may be nil, which matches everything
	minContains, maxContains int  // maxContains -1 means no maximum
	minItems, maxItems       int  // maxItems -1 means no maximum
	unique                   bool
}

// array checks the elements of an array.
func (c *argumentCheck) array(a *arrayRules, at rawjson.Span) verdict {
	v := fits
	count, contained, possible := 0, 0, 0
	var texts []rawjson.Span
	same := false
	for w := rawjson.WalkElements(c.raw, at); w.Next(); count++ {
		item := a.items
		if count < len(a.prefix) {
			item = a.prefix[count]
		}
		c.path = append(c.path, step{index: count})
		v = v.and(c.apply(item, w.Value))
		c.path = c.path[:len(c.path)-1]
		if a.hasContains {
			switch c.tried(a.contains, w.Value) {
			case fits:
				contained++
			case unsure:
				possible++
			}
		}
		if a.unique && !same {
			differs := c.distinct(texts, w.Value)
			v, same, texts = v.and(differs), differs == refuted, append(texts, w.Value)
		}
		if c.left--; c.ended(v) {
			return v.and(unsure)
		}
	}
	if count < a.minItems || a.maxItems >= 0 && count > a.maxItems {
		v = c.fault(fmt.Sprintf("want %s, found %d", rangeText(a.minItems, a.maxItems, "elements"), count))
	}
	if !a.hasContains {
		return v
	}
	switch {
	case contained+possible < a.minContains || a.maxContains >= 0 && contained > a.maxContains:
		return c.fault(fmt.Sprintf("want %s that fit the schema under contains, found %d", rangeText(a.minContains, a.maxContains, "elements"), contained))
	case possible > 0:
		return v.and(unsure)
	}
	return v
}

// spansPerWork is the number of element lengths compared for one unit of work.
const spansPerWork = 32

// distinct checks that an element differs from the preceding ones. Elements with different text may be equal: 1 and 1.0.
func (c *argumentCheck) distinct(before []rawjson.Span, one rawjson.Span) verdict {
	text := one.Of(c.raw)
	c.left -= len(before) / spansPerWork
	for _, other := range before {
		if other.End-other.Off != one.End-one.Off {
			continue
		}
		if !c.pay(one) {
			return unsure
		}
		if bytes.Equal(other.Of(c.raw), text) {
			return c.fault("want distinct elements; found two equal ones")
		}
	}
	switch text[0] {
	case 't', 'f', 'n':
		return fits
	}
	return unsure
}
