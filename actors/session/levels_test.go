package session

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol/downstream"
)

// logging/setLevel is answered after the gateway has told the servers, so the level holds for the client's next call. Requests
// above the limit do not wait.
func TestSetLevelWaitsForServers(t *testing.T) {
	s := ofAlice(t, key("alice", nil))
	step(s, time.Now(), message.Published{Snapshot: catalog.Build(nil, nil, catalog.Naming{PageSize: 10})}, nil)
	var asked []uint64
	does := func(msg any) (answers int) {
		for _, e := range step(s, time.Unix(5000, 0), msg, nil) {
			if _, is := e.Act.(reply.Answer); is {
				answers++
			}
			if m, is := e.Msg.(message.SetSessionLevel); is && m.Seq != 0 {
				asked = append(asked, m.Seq)
			}
		}
		return answers
	}
	for i := range maxLevels + 1 {
		x := &downstream.Exchange{Origin: downstream.Origin{Path: "/mcp"}}
		x.Frame, x.Params = actortest.Request(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":{"level":"debug"}}`, i))
		want := i / maxLevels
		if got := does(message.Inbound{Exchange: x, Admitted: message.Admitted{Who: s.principal.who, Epoch: 7}}); got != want {
			t.Errorf("request %d: %d answers at once, want %d", i, got, want)
		}
	}
	for _, seq := range asked {
		if does(message.SetSessionLevelResult{Seq: seq}) != 1 || does(message.SetSessionLevelResult{Seq: seq}) != 0 {
			t.Error("the request was not answered exactly once after the servers were told")
		}
	}
	if len(asked) != maxLevels || len(s.client.pendingLevels) != 0 {
		t.Errorf("%d requests to the gateway, %d pending", len(asked), len(s.client.pendingLevels))
	}
}
