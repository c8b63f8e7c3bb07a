package catalog

import (
	"bytes"
	"encoding/json"

	"goblin-actor/protocol"
)

// The members we add to an item's _meta (contract.md section 4).
const (
	metaName   = "goblin-actor/name"   // what the server calls it
	metaServer = "goblin-actor/server" // the server
	metaID     = "goblin-actor/id"     // resources and templates: the other spelling of the URI
	metaState  = "goblin-actor/state"  // "cached": as it was before the server was asked this time
)

// addition is a member of ours in _meta.
type addition struct {
	key   string
	value []byte // raw JSON
}

func metaOf(it *item) []addition {
	m := []addition{{metaName, protocol.Quote(it.own)}, {metaServer, protocol.Quote(it.server.Name)}}
	if it.other != "" {
		m = append(m, addition{metaID, protocol.Quote(it.other)})
	}
	if it.server.State != "" {
		m = append(m, addition{metaState, protocol.Quote(it.server.State)})
	}
	return m
}

// rewrite returns the item's JSON under its public name, with our members in _meta and every other byte as it came.
func rewrite(it *item) []byte {
	raw := it.item.Raw
	edits := make([]protocol.Edit, 0, 6)
	if it.public != it.own {
		span, _ := named(it.kind, &it.item)
		edits = append(edits, protocol.Edit{Span: span, With: protocol.Quote(it.public)})
	}
	ours := metaOf(it)
	meta := it.item.Meta.Of(raw)
	switch {
	case meta == nil:
		whole := protocol.Span{Off: 0, End: uint32(len(raw))}
		edits = append(edits, protocol.InsertMember(raw, whole, append([]byte(`"_meta":`), object(ours)...)))
	case meta[0] != '{': // against the schema; a client would stumble over it
		edits = append(edits, protocol.Edit{Span: it.item.Meta, With: object(ours)})
	case claimed(meta):
		edits = append(edits, protocol.Edit{Span: it.item.Meta, With: without(meta, ours)})
	default:
		edits = append(edits, protocol.InsertMember(raw, it.item.Meta, members(ours)))
	}
	return protocol.AppendEdited(nil, raw, edits...)
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
		out = append(out, protocol.Quote(m.key)...)
		out = append(append(out, ':'), m.value...)
	}
	return out
}

// claimed reports whether a server's _meta may hold members with our names: it is a gateway like us, or it pretends.
func claimed(meta []byte) bool {
	return bytes.Contains(meta, []byte("goblin-actor")) || bytes.Contains(meta, []byte(`\u00`))
}

// without returns the object meta with our members first and without any of the server's that bear their names; the
// other members stay as they came.
func without(meta []byte, ours []addition) []byte {
	out := append(append(make([]byte, 0, len(meta)+128), '{'), members(ours)...)
	dec := json.NewDecoder(bytes.NewReader(meta))
	if _, err := dec.Token(); err != nil {
		return object(ours)
	}
	for dec.More() {
		from := dec.InputOffset()
		key, err := dec.Token()
		if err != nil {
			return object(ours)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return object(ours)
		}
		switch key {
		case metaName, metaServer, metaID, metaState:
		default:
			out = append(append(out, ','), bytes.TrimLeft(meta[from:dec.InputOffset()], ", \t\r\n")...)
		}
	}
	return append(out, '}')
}
