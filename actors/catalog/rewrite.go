package catalog

import (
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// The members we add to an item's _meta.
const (
	metaName   = "goblin-actor/name" // what the server calls it
	metaServer = protocol.MetaServer
	metaID     = "goblin-actor/id"    // resources and templates: the other spelling of the URI
	metaState  = "goblin-actor/state" // "cached": as it was before the server was asked this time
	metaFault  = "goblin-actor/fault" // tools: why the server's outputSchema is left out
)

var (
	metaKey = []string{"_meta"}
	ourKeys = []string{metaName, metaServer, metaID, metaState, metaFault}
)

// addition is a member of ours in _meta.
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
		m = append(m, addition{metaFault, rawjson.Quote("the server's outputSchema is left out because it is invalid: " + it.leftOut.Error())})
	}
	return m
}

// rewrite returns the item's JSON under its public name, with our members in _meta and every other byte as it came.
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
	case meta[0] != '{': // against the schema; a client would stumble over it
		edits = append(edits, rawjson.Edit{Span: it.item.Meta, With: object(ours)})
	default: // a server that uses our keys is a gateway like this one, or pretends to be another server
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
