package protocol

import (
	"encoding/json"
	"slices"

	"goblin-actor/protocol/rawjson"
)

// Each goblin-actor process generates a node name, by which gateways recognize each other and detect loops. It is sent in the
// _meta of initialize, server/discover and their responses. An item that a gateway lists for another gateway also carries
// the names of the gateways it came through:
//
//	{"name":"files_read","_meta":{"goblin-actor/nodes":["nearest","next"]}}
const (
	keyNode  = "goblin-actor/node"
	keyNodes = "goblin-actor/nodes"
)

// MetaServer is the key in an item's _meta for the name of its server.
const MetaServer = "goblin-actor/server"

// MaxNodes is the maximum number of gateways that an item may pass through.
const MaxNodes = 8

// maxNode is the maximum length of a node name in bytes.
const maxNode = 64

// NodeMember returns the member of _meta, `"key":value`, that identifies a gateway.
func NodeMember(node string) []byte { return append([]byte(`"`+keyNode+`":`), rawjson.Quote(node)...) }

// NodeOf returns the node name in a message's _meta, or "" if the sender is not a goblin-actor gateway.
func NodeOf(raw []byte, meta rawjson.Span) string {
	if !meta.Present() || raw[meta.Off] != '{' {
		return ""
	}
	node, _ := rawjson.Unquote(rawjson.Member(raw, meta, keyNode).Of(raw))
	if len(node) > maxNode {
		return ""
	}
	return node
}

// Nodes returns the gateways that the item came through, nearest first, or nil if there are none or the value is invalid.
// The result may be longer than MaxNodes.
func Nodes(item *Item) (nodes []string) {
	if !item.Meta.Present() || item.Raw[item.Meta.Off] != '{' {
		return nil
	}
	if json.Unmarshal(rawjson.Member(item.Raw, item.Meta, keyNodes).Of(item.Raw), &nodes) != nil {
		return nil
	}
	return nodes
}

// Through returns the item's JSON with node added in front of nodes. Every other byte stays. An item whose _meta is
// neither an object nor null is returned unchanged.
func Through(item *Item, node string, nodes []string) []byte {
	way, err := json.Marshal(slices.Insert(slices.Clone(nodes), 0, node))
	if err != nil {
		panic("nodes: " + err.Error()) // strings always marshal
	}
	member := append([]byte(`"`+keyNodes+`":`), way...)
	var edits []rawjson.Edit
	switch {
	case !item.Meta.Present():
		member = append(append([]byte(`"_meta":{`), member...), '}')
		edits = rawjson.EditObject(nil, item.Raw, rawjson.Whole(item.Raw), []string{"_meta"}, member) // replaces "_meta":null
	case item.Raw[item.Meta.Off] != '{':
		return item.Raw
	default:
		edits = rawjson.EditObject(nil, item.Raw, item.Meta, []string{keyNodes}, member)
	}
	return rawjson.AppendEdited(nil, item.Raw, edits...)
}
