package backend

import (
	"fmt"
	"testing"
	"testing/synctest"

	"goblin-actor/internal/actortest"

	"goblin-actor/actors/message"
)

// A process in which a task runs is not to be stopped; when the server has said that it has ended, or its client has left, it is.
func TestAProcessWithATaskDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := tasked(t, "a", "b")
		defer b.stop()
		rests := func(when string, want int) {
			t.Helper()
			b.pool.Got()
			b.backend.Tell(message.MayRest{})
			synctest.Wait()
			if got := len(actortest.Of[message.Rests](b.pool)); got != want {
				t.Errorf("%s: %d answers, want %d", when, got, want)
			}
		}
		rests("nothing runs", 1)
		b.call(1, asTask(t))
		b.call(2, asTask(t))
		made := actortest.Of[message.TaskMade](b.holder)
		if len(made) != 2 {
			t.Fatalf("made: %+v", made)
		}
		status := func(task, word string) {
			_ = server.Last().Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":%q,"status":%q}}`, task, word))
			synctest.Wait()
		}
		status("a", "working")
		rests("two run", 0)
		status("a", "completed")
		rests("one runs", 0)
		b.backend.Tell(message.DropTask{ID: "b", Incarnation: made[1].Home.Incarnation})
		rests("none runs", 1)
	})
}
