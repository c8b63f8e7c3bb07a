package protocol

import "goblin-actor/protocol/rawjson"

// keyMetaSubscription is in every message on a subscriptions/listen stream: the id of the request that opened the stream.
// MCP 2026-07-28, basic/patterns/subscriptions
const keyMetaSubscription = reservedPrefix + "subscriptionId"

// DropSubscriptionID appends the edits that remove the subscription id from a modern server's notification, because the id is
// valid only on the server's stream. If _meta has no other members, it is removed as well.
func DropSubscriptionID(edits []rawjson.Edit, f *Frame, p *Params) []rawjson.Edit {
	if !p.SubscriptionID.Present() {
		return edits
	}
	before := len(edits)
	edits, left := rawjson.DropMembers(edits, f.Raw, p.Meta, [2]rawjson.Span{}, func(key []byte) bool { return rawjson.KeyIs(key, keyMetaSubscription) })
	if left {
		return edits
	}
	return rawjson.EditObject(edits[:before], f.Raw, f.Params, []string{"_meta"})
}
