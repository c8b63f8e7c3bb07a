package clientsubs

import (
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
)

// A pool gets no message without subscriptions, since any message would start a lazy server.
func TestResubscribeWithoutSubscriptions(t *testing.T) {
	snapshot := catalog.Build(nil, []catalog.Source{{Server: &catalog.Server{Name: "files", Life: 2}}}, catalog.Naming{URIStyle: "original"})
	at := map[string]PoolLife{"files": {life: 1}}
	subs := map[Resource]*Subscription{{Server: "files", URI: "file:///a"}: {}}
	out, servers := Resubscribe(at, snapshot, at["files"].Pool, subs, map[Resource]bool{{Server: "files", URI: "file:///a"}: true}, nil)
	if len(out) != 0 || len(servers) != 1 {
		t.Errorf("only pending subscriptions: %d messages for %v, want none", len(out), servers)
	}
	at["files"] = PoolLife{life: 1}
	out, _ = Resubscribe(at, snapshot, at["files"].Pool, subs, nil, nil)
	if len(out) != 1 || len(out[0].Msg.(message.Resubscribe).URIs) != 1 {
		t.Errorf("one subscription: got %v", out)
	}
}
