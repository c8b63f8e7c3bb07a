package backend

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/message"
)

// If a server ends just after a call with an open server request was canceled, the request is not answered, because there is no
// connection.
func TestServerEndsAfterACancellation(t *testing.T) {
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
			t.Errorf("%d answers sent after the server's end, want none", n)
		}
		for _, a := range b.system.Actors() {
			if a.Panics != 0 {
				t.Errorf("%s panicked at %s", a.Name, a.Last)
			}
		}
	})
}
