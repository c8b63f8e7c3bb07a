package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol"
)

// Batches are part of 2025-03-26 only. The members of a valid batch are handled one by one; an invalid batch is refused as a
// whole.
func TestBatches(t *testing.T) {
	const ping, call = `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one_ask"}}`
	for name, c := range map[string]struct {
		version string // negotiated; "" = not initialized
		batch   string
		want    string
		fault   string // part of the refusal
	}{
		"requests":          {protocol.Version20250326, "[" + ping + "," + call + "]", "result, dispatched", ""},
		"a notification":    {protocol.Version20250326, `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, "accepted", ""},
		"before initialize": {"", "[" + ping + "]", "400", "send initialize first"},
		"a later version":   {protocol.Version20250618, "[" + ping + "]", "400", "not part of protocol version 2025-06-18"},
		"an older version":  {protocol.Version20241105, "[" + ping + "]", "400", "not part of protocol version 2024-11-05"},
		"with initialize":   {protocol.Version20250326, "[" + ping + "," + hello + "]", "400", "initialize must not be part"},
		"not JSON":          {protocol.Version20250326, "[" + ping, "400", ""},
		"no messages":       {protocol.Version20250326, "[1]", "400", ""},
		"empty":             {protocol.Version20250326, "[]", "400", ""},
	} {
		k := newConversation(t, "http")
		k.step(askingServer())
		if c.version != "" {
			k.step(k.from("%s", strings.Replace(hello, "2025-11-25", c.version, 1)))
		}
		m := k.from(ping)
		m.Exchange.Batch = []byte(c.batch)
		var got []string
		for _, e := range step(k.s, time.Unix(1000, 0), m, nil) {
			switch a := e.Act.(type) {
			case reply.Answer:
				got = append(got, k.judge(a))
			case reply.Accept:
				got = append(got, "accepted")
			case refuse:
				got = append(got, fmt.Sprint(a.status))
				if !strings.Contains(a.fault.Message, c.fault) || (a.fault.Name == protocol.ParseFault) != (name == "not JSON") {
					t.Errorf("%s: refused with %v", name, a.fault)
				}
			}
			if _, is := e.Msg.(message.Dispatch); is {
				got = append(got, "dispatched")
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Only the member that names another project than its batch is refused.
func TestMemberOfABatchIsRefused(t *testing.T) {
	k := newConversation(t, "http")
	k.step(askingServer())
	k.step(k.from("%s", strings.Replace(hello, "2025-11-25", protocol.Version20250326, 1)))
	k.s.catalog.key.Project, k.s.catalog.gone = "alpha", false
	m := k.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	m.View.Project = "alpha"
	m.Exchange.Batch = []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"goblin-actor/project":"beta"}}},` +
		`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"goblin-actor/project":"alpha"}}},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
	var got []string
	for _, a := range acts(k.s, m) {
		switch a := a.(type) {
		case reply.Answer:
			got = append(got, string(a.X.Frame.IDBytes()))
		case refuseAdmission:
			got = append(got, "refused "+string(a.x.Frame.IDBytes()))
		}
	}
	if want := "refused 1, 2, 3"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
