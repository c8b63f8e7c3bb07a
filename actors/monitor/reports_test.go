package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
)

// client is an actor that serves a client. It reports how many messages it has handled.
type client struct {
	id       string
	changing bool
	seen     int
	asked    *int
}

type (
	visit struct{}
	leave struct{}
)

func (c *client) Step(_ time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case visit:
		c.seen++
	case leave:
		return append(out, kernel.StopSelf())
	case message.Inspect:
		*c.asked++
		m.Reply(message.SessionReport{Session: status.Session{ID: c.id, InFlight: c.seen}, Changing: c.changing})
	}
	return out
}

func (*client) Act(kernel.Self, any) {}

// A survey queries a client's actor only if it has handled a message since its last report, has been replaced, or says that its report
// changes by itself. The rows of the others stay, and those of actors that are gone do not.
func TestSurveyQueriesWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := kernel.New(kernel.Options{})
		asked := map[string]*int{}
		spawn := func(id string, changing bool) kernel.Reference {
			if asked[id] == nil {
				asked[id] = new(int)
			}
			counter := asked[id]
			return kernel.Spawn(system, kernel.SpawnOptions{Name: "session/" + id, Kind: "session"}, func(kernel.Self) kernel.Logic {
				return &client{id: id, changing: changing, asked: counter}
			})
		}
		idle, busy := spawn("idle", false), spawn("busy", false)
		spawn("changing", true)
		gone := spawn("gone", false)
		m := &monitor{system: system, state: &state{}}
		survey := func() map[string]int {
			synctest.Wait()
			rows := map[string]int{}
			for _, s := range m.survey(context.Background()).Sessions {
				rows[s.ID] = s.InFlight
			}
			return rows
		}
		survey()
		busy.Tell(visit{})
		gone.Tell(leave{})
		if rows := survey(); len(rows) != 3 || rows["busy"] != 1 || rows["idle"] != 0 {
			t.Errorf("rows %v", rows)
		}
		spawn("gone", false)
		idle.Tell(visit{})
		if rows := survey(); len(rows) != 4 || rows["busy"] != 1 || rows["idle"] != 1 {
			t.Errorf("rows %v", rows)
		}
		for id, want := range map[string]int{"idle": 2, "busy": 2, "changing": 3, "gone": 2} {
			if got := *asked[id]; got != want {
				t.Errorf("%s was queried %d times, want %d", id, got, want)
			}
		}
		if n := len(m.reports.known); n != 4 {
			t.Errorf("%d reports are kept, want 4", n)
		}
		if err := system.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
