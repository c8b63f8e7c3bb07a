package kernel

import (
	"context"
	"log/slog"
	"time"
)

// Effect is one thing that a step requests: a message to send, or an act. The kernel performs the acts that every actor
// needs (WakeAfter, Log, StopSelf). The Logic performs all others.
type Effect struct {
	To  Reference
	Msg any // sent to To; used if Act is nil
	Act any
}

// Acts that the kernel performs.
type (
	// Wake sends Msg to the actor itself after a delay.
	Wake struct {
		After time.Duration
		Msg   any
	}
	// Logged writes a message to the actor's log.
	Logged struct {
		Level slog.Level
		Text  string
		Args  []any // key-value pairs as in slog
	}
	// SelfStop stops the actor.
	SelfStop struct{}
)

// Tell returns the effect of sending msg to an actor.
func Tell(to Reference, msg any) Effect { return Effect{To: to, Msg: msg} }

// Act returns the effect of an act that the Logic performs.
func Act(act any) Effect { return Effect{Act: act} }

// WakeAfter returns the effect of sending msg to the actor itself after d, unless this incarnation has ended by then.
func WakeAfter(d time.Duration, msg any) Effect { return Effect{Act: Wake{d, msg}} }

// Log returns the effect of writing a message to the actor's log.
func Log(level slog.Level, text string, args ...any) Effect {
	return Effect{Act: Logged{level, text, args}}
}

// StopSelf returns the effect of stopping the actor. Messages that are still queued then are abandoned.
func StopSelf() Effect { return Effect{Act: SelfStop{}} }

func (h *shell) perform(e Effect) {
	switch a := e.Act.(type) {
	case nil:
		e.To.tellFrom(&h.cell.box, e.Msg)
	case Wake:
		h.self.After(a.After, a.Msg)
	case Logged:
		log := h.cell.effectLog
		if log == nil {
			log = h.cell.logger()
		}
		log.Log(context.Background(), a.Level, a.Text, a.Args...)
	case SelfStop:
		h.self.Stop()
	default:
		h.logic.Act(h.self, a)
	}
}
