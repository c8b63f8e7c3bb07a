package catalog

import (
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// The members that the gateway adds to an item's _meta.
const (
	metaName   = "goblin-actor/name" // the item's name at the server
	metaServer = protocol.MetaServer
	metaID     = "goblin-actor/id"    // resources and templates: the alternative spelling of the URI
	metaState  = "goblin-actor/state" // "cached": from an earlier start, not listed again yet
	metaFault  = "goblin-actor/fault" // tools: why the server's outputSchema was removed
)

var (
	metaKey = []string{"_meta"}
	ourKeys = []string{metaName, metaServer, metaID, metaState, metaFault}
)

// addition is a member that the gateway adds to _meta.
type addition struct {
	key   string
	value []byte // raw JSON
}

func metaOf(it *item) []addition {
	m := []addition{{metaName, rawjson.Quote(it.own)}, {metaServer, rawjson.Quote(it.server.Name)}}
	if it.other != "" {
		m = append(m, addition{metaID, rawjson.Quote(it.other)})
	}
	if it.server.State != "" {
		m = append(m, addition{metaState, rawjson.Quote(it.server.State)})
	}
	if it.leftOut != nil {
		m = append(m, addition{metaFault, rawjson.Quote("the server's outputSchema was removed because it is invalid: " + it.leftOut.Error())})
	}
	return m
}

// rewrite returns the item's JSON with its public name, public links and the added _meta members. All other bytes stay
// as they are.
func rewrite(it *item) []byte {
	raw := it.item.Raw
	edits := make([]rawjson.Edit, 0, 6)
	if it.public != it.own {
		span, _ := named(it.kind, &it.item)
		edits = append(edits, rawjson.Edit{Span: span, With: rawjson.Quote(it.public)})
	}
	for i, l := range it.parsed.links {
		if it.links[i] != l.uri {
			edits = append(edits, rawjson.Edit{Span: l.at, With: rawjson.Quote(it.links[i])})
		}
	}
	ours := metaOf(it)
	switch meta := it.item.Meta.Of(raw); {
	case meta == nil: // absent or null
		whole := rawjson.Span{Off: 0, End: uint32(len(raw))}
		edits = rawjson.EditObject(edits, raw, whole, metaKey, append([]byte(`"_meta":`), object(ours)...))
	case meta[0] != '{': // invalid; clients would fail on it
		edits = append(edits, rawjson.Edit{Span: it.item.Meta, With: object(ours)})
	default: // a server that uses these keys is another goblin-actor gateway, or imitates one
		edits = rawjson.EditObject(edits, raw, it.item.Meta, ourKeys, members(ours))
	}
	return rawjson.AppendEdited(nil, raw, edits...)
}

// object returns the members as a JSON object.
func object(list []addition) []byte {
	out := append(make([]byte, 0, 128), '{')
	return append(append(out, members(list)...), '}')
}

func members(list []addition) []byte {
	out := make([]byte, 0, 128)
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, rawjson.Quote(m.key)...)
		out = append(append(out, ':'), m.value...)
	}
	return out
}
