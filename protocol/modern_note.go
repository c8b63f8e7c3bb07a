package protocol

// keyMetaSubscription is the mark that every message on a subscriptions/listen stream carries: the id of the request that
// opened it. MCP 2026-07-28, basic/patterns/subscriptions.
const keyMetaSubscription = reservedPrefix + "subscriptionId"

// DropSubscriptionID appends the edits that take the mark of its stream off a modern server's notification: it means something
// on that stream only. A _meta that holds nothing else goes with it.
func DropSubscriptionID(edits []Edit, f *Frame, p *Params) []Edit {
	if !p.SubscriptionID.Present() {
		return edits
	}
	before := len(edits)
	edits, left := dropMembers(edits, f.Raw, p.Meta, [2]Span{}, func(key []byte) bool { return sameKey(key, keyMetaSubscription) })
	if left {
		return edits
	}
	return EditObject(edits[:before], f.Raw, f.Params, []string{"_meta"})
}
