package stateless

import (
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Requests that arrive before the catalog wait for it. On stdin and stdout all but server/discover wait until the servers have
// settled. No wait is longer than StartWait.
func TestEarlyRequests(t *testing.T) {
	const discover, list = "server/discover", "tools/list"
	const starting = "SERVER_UNAVAILABLE: the gateway is still starting; try again"
	const stopping = "SHUTTING_DOWN: the gateway is shutting down"
	none := message.Published{Snapshot: actortest.Snapshot(false)}
	settled := message.Published{Snapshot: actortest.Snapshot(true)}
	for name, c := range map[string]struct {
		method string
		stdio  bool
		msgs   []any
		want   []string // the answers so far, after the request and after each message
	}{
		"http waits for a catalog":               {list, false, []any{none}, []string{"", "answered"}},
		"stdio waits for the servers":            {list, true, []any{none, settled}, []string{"", "", "answered"}},
		"discover on stdio waits for none":       {discover, true, []any{none}, []string{"", "answered"}},
		"a server that is slow":                  {list, true, []any{none, admission.StartWaitOver{}}, []string{"", "", "answered"}},
		"no catalog at all":                      {list, false, []any{admission.StartWaitOver{}}, []string{"", starting}},
		"the gateway ends":                       {list, true, []any{none, message.DrainSession{}}, []string{"", "", stopping}},
		"the gateway ends before its start":      {list, false, []any{message.DrainSession{}}, []string{"", stopping}},
		"the actor ends":                         {list, true, []any{kernel.Stopping{}}, []string{"", stopping}},
		"later ones do not wait for new servers": {list, true, []any{settled, none}, []string{"", "answered", "answered"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(Options{Count: 1, Expect: 1, Limits: config.Default().Limits}, kernel.Reference{})
			x := &downstream.Exchange{Origin: downstream.Origin{Stdio: c.stdio}}
			raw := `{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":{}}`
			x.Frame = actortest.Frame(t, raw)
			went := ""
			for i, msg := range append([]any{message.StatelessRequest{Exchange: x}}, c.msgs...) {
				for _, e := range step(s, time.Unix(1000, 0), msg, nil) {
					switch a := e.Act.(type) {
					case reply.Answer:
						went += "answered"
					case reply.Refuse:
						went += string(a.Fault.Name) + ": " + a.Fault.Error()
					}
				}
				if went != c.want[i] {
					t.Errorf("after %T: %q, want %q", msg, went, c.want[i])
				}
			}
		})
	}
}

// Before there is a catalog, a stateless session queues maxEarly requests and refuses the next one.
func TestEarlyRequestsAreBounded(t *testing.T) {
	s := newState(Options{Count: 1, Expect: 1, Limits: config.Default().Limits}, kernel.Reference{})
	for n := range maxEarly + 1 {
		x := &downstream.Exchange{Frame: actortest.Frame(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)}
		var fault *protocol.Fault
		for _, e := range step(s, time.Unix(1000, 0), message.StatelessRequest{Exchange: x}, nil) {
			if r, ok := e.Act.(reply.Refuse); ok {
				fault = r.Fault
			}
		}
		if full := n == maxEarly; full != (fault != nil) || full && (fault.Name != protocol.Overloaded || !fault.Retryable || fault.RetryAfter == 0) {
			t.Fatalf("request %d: %+v", n, fault)
		}
	}
}
