package protocol

import "goblin-actor/protocol/rawjson"

// keyMetaSubscription is the mark that every message on a subscriptions/listen stream carries: the id of the request that
// opened it. MCP 2026-07-28, basic/patterns/subscriptions.
const keyMetaSubscription = reservedPrefix + "subscriptionId"

// DropSubscriptionID appends the edits that take the mark of its stream off a modern server's notification: it means something
// on that stream only. A _meta that holds nothing else goes with it.
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
