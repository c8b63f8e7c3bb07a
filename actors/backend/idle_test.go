package backend

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol/upstream"
)

// A process with a running task is not reported as idle until the server has reported the end of the task or the task was
// dropped.
func TestProcessWithATaskIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, server := tasked(t, "a", "b")
		defer b.stop()
		idle := func(when string, want int) {
			t.Helper()
			b.pool.Got()
			b.backend.Tell(message.QueryIdle{})
			synctest.Wait()
			if got := len(actortest.Of[message.BackendIdle](b.pool)); got != want {
				t.Errorf("%s: %d answers, want %d", when, got, want)
			}
		}
		idle("no task", 1)
		b.call(1, asTask(t))
		b.call(2, asTask(t))
		made := actortest.Of[message.TaskMade](b.holder)
		if len(made) != 2 {
			t.Fatalf("tasks created: %+v", made)
		}
		status := func(task, word string) {
			_ = server.Last().Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":%q,"status":%q}}`, task, word))
			synctest.Wait()
		}
		status("a", "working")
		idle("two tasks", 0)
		status("a", "completed")
		idle("one task left", 0)
		b.backend.Tell(message.DropTask{ID: "b", Incarnation: made[1].Home.Incarnation})
		idle("no task left", 1)
	})
}

// The status of a starting backend says what it waits for, and keeps the last failure.
func TestStatusKeepsTheLastFailure(t *testing.T) {
	o := &driver{t: t, s: newState(Options{Server: cfg(), Transport: "stdio"}, kernel.Reference{}, new(uint64))}
	shows := func(after time.Duration, want string) {
		t.Helper()
		if got := o.s.report(time.Unix(0, 0).Add(after)).Reason; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	o.step(kernel.Started{})
	shows(0, "waiting for other servers to start (limits.startsAtOnce)")
	o.step(message.Connect{})
	shows(0, "")
	o.step(linkEvent{1, upstream.Opened{}})
	shows(12*time.Second, "waiting for the response to the handshake for 12s")
	o.step(linkEvent{1, upstream.Closed{Err: errors.New("exit status 1"), Stderr: []string{"E404"}}})
	shows(0, "exit status 1; stderr: E404")
	o.step(reconnectDue{1})
	o.step(message.Connect{})
	shows(0, "waiting for the connection; previous failure: exit status 1; stderr: E404")
}
