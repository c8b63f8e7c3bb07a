package backend

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
)

// A server that dies just after a call was cancelled at its question is owed no answer to that any more: there is no
// connection to say it on.
func TestAServerThatDiesBesideACancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, elicit := asking()
		slow := cfg()
		slow.Reconnect.Min = time.Minute
		b := start(t, server, slow)
		defer b.stop()
		synctest.Wait()
		b.call(1, legacyRequest(t, message.CanForm))
		elicit("a")
		b.cancelCall(1)
		server.Last().Close(errors.New("exit status 1"))
		time.Sleep(2 * cancelGrace)
		synctest.Wait()
		if n := len(server.Answers()); n != 0 {
			t.Errorf("the server was told %d answers after its end", n)
		}
		for _, a := range b.system.Actors() {
			if a.Panics != 0 {
				t.Errorf("%s panicked at %s", a.Name, a.Last)
			}
		}
	})
}
