package status

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Each verb takes its own members only. Otherwise the record of an action could name what the action did not touch.
func TestActionCheck(t *testing.T) {
	all := map[string]Action{"server": {Server: "a"}, "call": {Call: "a"}, "session": {Session: "a"}, "tool": {Tool: "a"}, "actor": {Actor: "a"}, "seconds": {Seconds: 1}, "stop": {Stop: true}}
	for verb, takes := range map[Verb][]string{
		Restart: {"server"}, Cancel: {"call"}, End: {"session"}, Record: {"server", "actor", "seconds"}, Payloads: {"server", "stop"}, Drain: nil, Reload: nil, Enable: {"server"}, Disable: {"server"}, // a tool only with a server
		"unknown": {"server", "tool", "call", "session", "actor", "seconds", "stop"},
	} {
		for member, a := range all {
			a.Verb, a.Aim = verb, "aim"
			if err := a.Check(); (err == nil) != slices.Contains(takes, member) || err != nil && !errors.Is(err, ErrBadAction) {
				t.Errorf("%s with %s: %v", verb, member, err)
			}
		}
	}
}

// A tool is enabled or disabled with its server. Another member is refused.
func TestSwitchCheck(t *testing.T) {
	for a, want := range map[Action]error{{Server: "a", Tool: "b"}: nil, {Server: "a", Call: "c"}: ErrBadAction, {}: ErrBadAction} {
		for _, a.Verb = range []Verb{Enable, Disable} {
			if err := a.Check(); !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", a, err, want)
			}
		}
	}
}

// recordingActions is a Gateway that started at Unix second 1. It refuses every action and keeps its verb.
type recordingActions struct {
	changing
	acted []Verb
}

func (*recordingActions) Status(context.Context) (*Snapshot, error) {
	return &Snapshot{Started: time.Unix(1, 0)}, nil
}

func (g *recordingActions) Act(_ context.Context, a Action) error {
	g.acted = append(g.acted, a.Verb)
	return ErrBadAction
}

// An action that the process performs itself is passed to the gateway only if it is refused: the gateway records that.
func TestRefusedDrain(t *testing.T) {
	mine, other := (&Snapshot{Started: time.Unix(1, 0)}).Aimed(Action{}).Aim, (&Snapshot{Started: time.Unix(2, 0)}).Aimed(Action{}).Aim
	for _, verb := range []Verb{Drain, Reload, Enable, Disable} {
		for _, c := range []struct {
			a    Action
			want error
		}{{Action{}, nil}, {Action{Aim: mine}, nil}, {Action{Aim: other}, ErrRestarted}, {Action{Actor: "a"}, ErrBadAction}, {Action{Aim: mine, Call: "a"}, ErrBadAction}} {
			g, done := &recordingActions{}, 0
			l := Local{Gateway: g, Drain: func() { done++ }, Reload: func(context.Context) error { done++; return nil }, Switch: func(context.Context, Action) error { done++; return nil }}
			if c.a.Verb = verb; verb == Enable || verb == Disable {
				c.a.Server = "a"
			}
			if err := l.Act(t.Context(), c.a); !errors.Is(err, c.want) || (c.want == nil) != (done == 1) || (c.want != nil) != slices.Equal(g.acted, []Verb{verb}) {
				t.Errorf("%+v: %v, done %d times, the gateway got %q", c.a, err, done, g.acted)
			}
		}
	}
}
