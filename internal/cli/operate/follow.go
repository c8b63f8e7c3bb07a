package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/status"
)

// follow calls tell with each notice of a stream until ctx ends. It reports on errOut when the connection is lost or
// restored, and how many entries of the given kind were missed.
func follow(ctx context.Context, source status.Source, o status.FollowOptions, errOut io.Writer, kind string, tell func(status.Notice) error) error {
	started := false
	err := source.Follow(ctx, o, func(n status.Notice) error {
		started = true
		switch {
		case n.Restarted:
			fmt.Fprintf(errOut, "reconnected; the gateway was restarted and its earlier %ss are lost\n", kind)
		case n.Back:
			fmt.Fprintln(errOut, "reconnected")
		case n.Lost != nil:
			fmt.Fprintf(errOut, "connection lost, reconnecting: %s\n", terminal.OneLine(n.Lost.Error(), 200))
		case n.Missed > 0:
			fmt.Fprintf(errOut, "%s missed\n", terminal.Count(int(n.Missed), kind))
		}
		return tell(n)
	})
	switch {
	case started, ctx.Err() != nil, errors.Is(err, status.ErrTooManyStreams):
		return err
	case errors.Is(err, admin.ErrNoStream):
		return noStream(err)
	}
	return target.Unreachable(err)
}

// noStream returns the error of a gateway that has no stream for this command.
func noStream(err error) error {
	return command.Fail(command.ExitPeerError, err, "check the gateway's version with goblin-actor status; it may be older than this program")
}

// latest is the newest status of a gateway that a stream reports.
type latest struct {
	snapshot *status.Snapshot // nil = none yet
	lost     error            // why the gateway does not respond
	came     time.Time        // when the snapshot was received
}

// take remembers a notice.
func (l *latest) take(n status.Notice) {
	switch {
	case n.Snapshot != nil:
		*l = latest{snapshot: n.Snapshot, came: time.Now()}
	case n.Lost != nil:
		l.lost = n.Lost
	}
}

// followStatus calls changed with each new status, and when the gateway does not respond, until ctx ends or changed
// returns an error. It also retries if the first connection fails, unless the gateway answers that it has no such
// stream.
func followStatus(ctx context.Context, source status.Source, o status.FollowOptions, changed func(latest) error) error {
	var l latest
	for {
		var ended error
		err := source.Follow(ctx, o, func(n status.Notice) error {
			if l.take(n); n.Snapshot != nil || n.Lost != nil {
				ended = changed(l)
			}
			return ended
		})
		switch {
		case ctx.Err() != nil, ended != nil:
			return err
		case l.snapshot == nil && errors.Is(err, admin.ErrNoStream):
			return noStream(err)
		}
		l.take(status.Notice{Lost: err})
		if err := changed(l); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
