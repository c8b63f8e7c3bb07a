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
	maxList    = 100_000  // items of one kind per server
	maxMatched = 1000     // templates per server that URIs are matched against
	maxItem    = 1 << 20  // bytes of an item's JSON
	maxName    = 16 << 10 // bytes of a name, URI or template text
	shown      = 64       // bytes of a server's text quoted in a warning

	maxCompiled = 100_000 // units of toolschema.Compile for one server's tools; arguments of further tools are not validated
)

// parsed is an item of a server without public names. It is immutable, and reused by later snapshots while the server's
// list is the same slice and its toolRules are the same.
type parsed struct {
	own      string // name, URI or template text of the server
	item     protocol.Item
	template *namespace.Template // only for Templates; nil if the text is not a valid RFC 6570 template, or beyond maxMatched
	links    []link              // only for Tools: links to pages of its server
	checked  []byte              // only for Tools: the server's definition if it was checked and is valid; else nil

	leftOut     *toolschema.Fault       // only for Tools: what is invalid in the outputSchema that was removed; nil = none was removed
	arguments   *toolschema.InputSchema // only for Tools: validates arguments; nil = they are not validated
	compileCost int                     // units of toolschema.Compile used for arguments
}

// parsedList is a server's parsed list of one kind.
type parsedList struct {
	source   [][]byte // the list it was parsed from
	rules    toolRules
	items    []*parsed
	invalid  []InvalidTool // in list order
	warnings []string

	invalidWarnings []toolWarning // in list order; the server's rules decide which of them are shown
}

// toolRules are the server's rules that affect parsing of tools.
type toolRules struct {
	invalid  string // what happens to invalid tools; "" = definitions are not checked
	compiles bool   // arguments are validated
}

func toolRulesOf(server *Server) toolRules {
	return toolRules{server.Rules.Tools.Invalid, server.Rules.ValidateArguments == "refuse"}
}

// same reports whether the list was parsed from that slice with the same rules.
func (l *parsedList) same(source [][]byte, rules toolRules) bool {
	return l != nil && l.rules == rules && len(l.source) == len(source) && unsafe.SliceData(l.source) == unsafe.SliceData(source)
}

// parseList parses a server's list. Items that cannot be listed are dropped with a warning; of two items with the same
// name the first is kept. The parameter old is the server's previous list, or nil. Its valid definitions are not checked
// again if they are unchanged.
func parseList(server *Server, kind protocol.ItemKind, source [][]byte, old *parsedList) *parsedList {
	l := &parsedList{source: source, rules: toolRulesOf(server), items: make([]*parsed, 0, min(len(source), maxList))}
	checks := toolChecks{list: l, server: server, known: known(kind, old), budget: maxCompiled}
	seen := make(map[string]struct{}, cap(l.items))
	matched := 0
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
				err = fmt.Errorf("the server lists %q twice; the first is kept", clip(p.own, shown))
			}
		}
		if err != nil {
			l.warnings = warn(l.warnings, "%s: %s: item %d left out: %v", server.Name, kind, i, err)
			continue
		}
		seen[p.own] = struct{}{}
		if matched == maxMatched {
			l.warnings = warn(l.warnings, "%s: template %q is listed, but no URI will match it: the server has more than %d templates", server.Name, clip(p.own, shown), maxMatched)
		} else if kind == protocol.Templates {
			matched++
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

// named returns the span of the member that names an item of the kind, and the key of that member.
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
