package admin

import (
	"context"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// FollowEvent is an event of a Follower. Exactly one field is set, except that Restarted occurs with Back.
type FollowEvent struct {
	Change    *status.CatalogChange
	Missed    uint64 // number of changes that were lost
	Lost      error  // why the stream was lost; it is being reopened
	Back      bool   // the stream is open again and continues where it ended, unless Restarted
	Restarted bool   // with Back: the gateway was restarted; changes in between are unknown
}

// Follower reports catalog changes of the gateway with an admin socket. It reconnects whenever its stream is lost, as often as
// necessary. A Follower supports a single call of Follow.
type Follower struct {
	Path string
	Past bool                    // start with the stored changes
	Tell func(FollowEvent) error // called for each event, one at a time; its error ends Follow

	boot string // "" = no stream was open yet
	away bool   // Lost was reported, Back was not yet
}

// Follow blocks until ctx ends, Tell returns an error, or the first connection fails. It returns the reason.
func (f *Follower) Follow(ctx context.Context) error {
	r := reader{path: f.Path, query: "want=catalog", event: f.event, lost: f.lost}
	if !f.Past {
		r.query += "&after=now"
	}
	return r.run(ctx)
}

// Started reports whether a stream was ever open.
func (f *Follower) Started() bool { return f.boot != "" }

func (f *Follower) lost(err error) error {
	if f.away {
		return nil
	}
	f.away = true
	return f.Tell(FollowEvent{Lost: err})
}

// event reports an event of the stream.
func (f *Follower) event(name, _, data string) error {
	var e FollowEvent
	switch name {
	case eventHello:
		var hello changesHello
		if err := decode.JSON([]byte(data), "an event", &hello); err != nil {
			return err
		}
		e.Back, e.Restarted = f.away, f.boot != hello.Boot
		f.away, f.boot = false, hello.Boot
		if !e.Back {
			return nil
		}
	case eventChange:
		e.Change = new(status.CatalogChange)
		if err := decode.JSON([]byte(data), "an event", e.Change); err != nil {
			return err
		}
	case eventLost:
		var lost changesLost
		if err := decode.JSON([]byte(data), "an event", &lost); err != nil {
			return err
		}
		e.Missed = lost.Lost
	default:
		return nil
	}
	return asCallbackError(f.Tell(e))
}
