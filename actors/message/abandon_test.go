package message_test

import (
	"testing"
	"testing/synctest"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// A call whose backend panicked while it sent the call may have been executed. The error says so, and the pool does not try the call again.
func TestPanicWhileSending(t *testing.T) {
	for _, c := range []struct {
		frame     string
		retryable bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a://b"}}`, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			system := kernel.New(kernel.Options{})
			holder, pool := actortest.NewProbe(system, "holder"), actortest.NewProbe(system, "pool")
			var frame protocol.Frame
			if err := frame.Parse([]byte(c.frame)); err != nil {
				t.Fatal(err)
			}
			request := &message.Request{Frame: frame, Server: "bank"}
			call := message.CallRef{Holder: holder.Reference, Seq: 7}
			message.Send{Call: call, Request: request, Pool: pool.Reference}.Abandon(kernel.Panicked)
			synctest.Wait()
			if got := actortest.Of[message.Failed](holder); len(got) != 1 || got[0].Seq != 7 || got[0].Fault.Name != protocol.BackendDisconnected || got[0].Fault.Retryable != c.retryable {
				t.Errorf("%s: the holder received %+v", frame.Method, got)
			}
			if got := pool.Got(); len(got) != 1 || got[0] != any(message.CallEnded{Call: call}) {
				t.Errorf("%s: the pool received %+v", frame.Method, got)
			}
			actortest.Stop(t, system)
		})
	}
}
