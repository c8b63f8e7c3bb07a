package kernel

import (
	"context"
	"log/slog"
	"time"
)

// Effect is one thing that a step wants done: a message told, or an act. The kernel carries out what every actor does
// (Tell, WakeAfter, Log, Leave); any other act is the Logic's own.
type Effect struct {
	To  Reference
	Msg any // told to To, when Act is nil
	Act any
}

// What the kernel carries out itself.
type (
	// Wake is told to the actor itself when the time is over.
	Wake struct {
		After time.Duration
		Msg   any
	}
	// Logged is written to the actor's log.
	Logged struct {
		Level slog.Level
		Text  string
		Args  []any // as slog takes them
	}
	// Leaving ends the actor.
	Leaving struct{}
)

// Tell is the effect of telling msg to an actor.
func Tell(to Reference, msg any) Effect { return Effect{To: to, Msg: msg} }

// Act is an effect that the Logic carries out.
func Act(act any) Effect { return Effect{Act: act} }

// WakeAfter tells msg to the actor itself when d is over, unless this incarnation has ended.
func WakeAfter(d time.Duration, msg any) Effect { return Effect{Act: Wake{d, msg}} }

// Log writes a line to the actor's log.
func Log(level slog.Level, text string, args ...any) Effect {
	return Effect{Act: Logged{level, text, args}}
}

// Leave ends the actor after what it has been told so far.
func Leave() Effect { return Effect{Act: Leaving{}} }

// perform carries out an effect.
func (h *shell) perform(e Effect) {
	switch a := e.Act.(type) {
	case nil:
		e.To.tellFrom(&h.cell.box, e.Msg)
	case Wake:
		h.self.After(a.After, a.Msg)
	case Logged:
		log := h.cell.lines
		if log == nil {
			log = h.cell.logger()
		}
		log.Log(context.Background(), a.Level, a.Text, a.Args...)
	case Leaving:
		h.self.Stop()
	default:
		h.logic.Act(h.self, a)
	}
}
