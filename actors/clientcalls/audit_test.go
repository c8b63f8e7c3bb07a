package clientcalls

import (
	"testing"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A request that the policy denies is recorded as denied, whatever response its client gets. A request that the policy
// only reports is not.
func TestPolicyDenialIsRecorded(t *testing.T) {
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_drop"}}`)
	starting := &protocol.Fault{Name: protocol.ServerUnavailable, Server: "two"}
	for _, test := range []struct {
		name                    string
		fault                   *protocol.Fault
		denied                  *admission.Denied
		decision, outcome, item string
	}{
		{"an unknown tool", protocol.NoTool("one_drop"), nil, audit.Deny, "TOOL_NOT_FOUND", "one_drop"},
		{"a denied tool", protocol.NoTool("one_drop"), &admission.Denied{Server: "one", Item: "drop"}, audit.Deny, "POLICY_DENIED", "drop"},
		{"a denied tool while servers start", starting, &admission.Denied{Server: "one", Item: "drop"}, audit.Deny, "POLICY_DENIED", "drop"},
		{"a tool whose denial is only reported", starting, &admission.Denied{Server: "one", Item: "drop", Report: true}, audit.Allow, "SERVER_UNAVAILABLE", "one_drop"},
	} {
		out := auditRefused(audit.On, x, "", test.fault, test.denied, 0, []kernel.Effect{kernel.Act(reply.Refuse{X: x, Fault: test.fault})})
		told, is := out[len(out)-1].Act.(Audited)
		if !is || told.Record.Decision != test.decision || told.Record.Outcome != test.outcome || told.Record.Item != test.item {
			t.Errorf("%s: %+v", test.name, told.Record)
		}
	}
}
