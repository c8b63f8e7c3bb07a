package protocol

import (
	"encoding/json"
	"slices"

	"goblin-actor/protocol/rawjson"
)

// Gateways of this kind recognize each other, and themselves, by a name that each process makes up for itself. It stands
// in the _meta of initialize and server/discover, of the answers to gateways, and, as the way it came, of each item that
// one gateway lists for another:
//
//	{"name":"files_read","_meta":{"goblin-actor/nodes":["nearest","next"]}}
const (
	keyNode  = "goblin-actor/node"
	keyNodes = "goblin-actor/nodes"
)

// MetaServer is the key in an item's _meta that names its server.
const MetaServer = "goblin-actor/server"

// MaxNodes is how many gateways an item may come through; a longer way is nobody's intention.
const MaxNodes = 8

// maxNode is how many bytes a gateway's name may have.
const maxNode = 64

// NodeMember is the member of _meta, `"key":value`, by which a gateway says who it is.
func NodeMember(node string) []byte { return append([]byte(`"`+keyNode+`":`), rawjson.Quote(node)...) }

// NodeOf returns the name of the gateway that sent the message with this _meta, "" when none did.
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

// Nodes returns the gateways the item came through, the nearest first; nil when it came through none, or what it says makes
// no sense. It may be longer than MaxNodes.
func Nodes(item *Item) (nodes []string) {
	if !item.Meta.Present() || item.Raw[item.Meta.Off] != '{' {
		return nil
	}
	if json.Unmarshal(rawjson.Member(item.Raw, item.Meta, keyNodes).Of(item.Raw), &nodes) != nil {
		return nil
	}
	return nodes
}

// Through returns the item's JSON with node as the nearest of nodes, every other byte as it came. An item whose _meta is
// no object stays as it is.
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
		edits = rawjson.EditObject(nil, item.Raw, rawjson.Whole(item.Raw), []string{"_meta"}, member) // _meta: null goes
	case item.Raw[item.Meta.Off] != '{':
		return item.Raw
	default:
		edits = rawjson.EditObject(nil, item.Raw, item.Meta, []string{keyNodes}, member)
	}
	return rawjson.AppendEdited(nil, item.Raw, edits...)
}
