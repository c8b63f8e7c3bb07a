package console

import (
	"context"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/status"
)

// startedSource is a status.Source. In its hints, command lines begin with the name under which this program was started.
type startedSource struct{ status.Source }

// Status implements status.Source.
func (s startedSource) Status(ctx context.Context) (*status.Snapshot, error) {
	snapshot, err := s.Source.Status(ctx)
	return hinted(snapshot), err
}

// Follow implements status.Source.
func (s startedSource) Follow(ctx context.Context, o status.FollowOptions, tell func(status.Notice) error) error {
	return s.Source.Follow(ctx, o, func(n status.Notice) error {
		n.Snapshot = hinted(n.Snapshot)
		return tell(n)
	})
}

// hinted returns the snapshot with hints in which command lines begin with the name under which this program was
// started.
func hinted(snapshot *status.Snapshot) *status.Snapshot {
	if snapshot == nil || program.Name() == "goblin-actor" {
		return snapshot
	}
	changed := *snapshot // the original belongs to the gateway in this process, which shares it
	changed.Servers = append([]status.Server{}, snapshot.Servers...)
	for i := range changed.Servers {
		changed.Servers[i].Hint = program.Hint(changed.Servers[i].Hint)
	}
	return &changed
}
