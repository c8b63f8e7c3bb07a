package catalog

import (
	"fmt"
	"unsafe"

	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/toolschema"
)

const (
	maxList = 100_000  // items of one kind of one server
	maxMade = 1000     // templates of one server that URIs are matched with
	maxItem = 1 << 20  // bytes of one item's JSON
	maxName = 16 << 10 // bytes of one name, URI or template text
	shown   = 64       // bytes of a server's text in a warning

	maxCompiled = 100_000 // units of toolschema.Compile for one server's tools; calls of tools beyond are not checked
)

// parsed is one item of a server, before anybody names it. Immutable; taken over by later snapshots as long as
// the server's list is the same slice.
type parsed struct {
	own      string // name, URI or template text as the server gave it
	item     protocol.Item
	template *namespace.Template // kind Templates only; nil when RFC 6570 does not know such a text
	links    []link              // kind Tools only: to pages of its server
	checked  []byte              // kind Tools only: the definition as the server gave it, if it is valid

	leftOut     *toolschema.Fault       // kind Tools only: what is invalid about the outputSchema that is left out; nil = none is
	arguments   *toolschema.InputSchema // kind Tools only: what calls are checked against; nil = they are not
	compileCost int                     // units of toolschema.Compile that arguments took
}

// lot is one server's list of one kind, parsed.
type lot struct {
	source   [][]byte // what it was parsed from
	rules    toolRules
	items    []*parsed
	invalid  []InvalidTool // in the order of the list
	warnings []string
}

// toolRules are the rules of a server by which its tools are parsed.
type toolRules struct {
	invalid  string // what becomes of invalid tools; "" = they are not looked for
	compiles bool   // calls are checked against the inputSchema
}

func toolRulesOf(server *Server) toolRules {
	return toolRules{server.Rules.Tools.Invalid, server.Rules.ValidateArguments == "refuse"}
}

// same reports whether the lot was parsed from this very slice, by the same rules for tools.
func (l *lot) same(source [][]byte, rules toolRules) bool {
	return l != nil && l.rules == rules && len(l.source) == len(source) && unsafe.SliceData(l.source) == unsafe.SliceData(source)
}

// parseLot parses a server's list. What cannot be listed is left out with a warning; of two items with the same
// name the first stays. old is the server's list before this one, whose definitions are not checked again; nil = there was none.
func parseLot(server *Server, kind protocol.ItemKind, source [][]byte, old *lot) *lot {
	l := &lot{source: source, rules: toolRulesOf(server), items: make([]*parsed, 0, min(len(source), maxList))}
	checks := toolChecks{lot: l, server: server, known: known(kind, old), budget: maxCompiled}
	seen := make(map[string]struct{}, cap(l.items))
	made := 0
	if len(source) > maxList {
		l.warnings = warn(l.warnings, "%s: %s: %d items, only the first %d are listed", server.Name, kind, len(source), maxList)
	}
	for i, e := range checks.examineAll(kind, source[:min(len(source), maxList)]) {
		p, err := e.parsed, e.err
		if err == nil && kind == protocol.Tools && l.rules.invalid != "" && !checks.passes(e) {
			continue
		}
		if err == nil {
			if _, double := seen[p.own]; double {
				err = fmt.Errorf("the server lists %q twice; the first stays", clip(p.own, shown))
			}
		}
		if err != nil {
			l.warnings = warn(l.warnings, "%s: %s: item %d left out: %v", server.Name, kind, i, err)
			continue
		}
		seen[p.own] = struct{}{}
		if made == maxMade {
			l.warnings = warn(l.warnings, "%s: template %q is listed, but no URI will match it: the server has more than %d", server.Name, clip(p.own, shown), maxMade)
		} else if kind == protocol.Templates {
			made++
			if p.template, err = namespace.ParseTemplate(p.own); err != nil {
				l.warnings = warn(l.warnings, "%s: template %q is listed, but no URI will match it: %v", server.Name, clip(p.own, shown), err)
			}
		}
		l.items = append(l.items, p)
	}
	checks.warnUnchecked()
	return l
}

func parseOne(kind protocol.ItemKind, raw []byte) (*parsed, error) {
	if len(raw) > maxItem {
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(raw), maxItem)
	}
	item, err := protocol.ParseItem(raw)
	if err != nil {
		return nil, err
	}
	p := &parsed{item: item}
	span, member := named(kind, &item)
	own, ok := rawjson.Unquote(span.Of(item.Raw))
	switch {
	case !ok || own == "":
		return nil, fmt.Errorf("no %s", member)
	case len(own) > maxName:
		return nil, fmt.Errorf("%s of %d bytes, the limit is %d", member, len(own), maxName)
	}
	p.own = own
	if kind == protocol.Tools {
		p.links = linksOf(&p.item)
	}
	return p, nil
}

// named returns where an item's own name stands and what that member is called.
func named(kind protocol.ItemKind, item *protocol.Item) (rawjson.Span, string) {
	switch kind {
	case protocol.Resources:
		return item.URI, "uri"
	case protocol.Templates:
		return item.URITemplate, "uriTemplate"
	default:
		return item.Name, "name"
	}
}
