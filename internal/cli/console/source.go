package console

import (
	"context"

	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/status"
)

// startedSource is a status.Source whose hints name the program as it was started.
type startedSource struct{ status.Source }

// Status implements status.Source.
func (s startedSource) Status(ctx context.Context) (*status.Snapshot, error) {
	snapshot, err := s.Source.Status(ctx)
	if err != nil || program.Name() == "goblin-actor" {
		return snapshot, err
	}
	changed := *snapshot // a gateway in this process shares its snapshot with others
	changed.Servers = append([]status.Server{}, snapshot.Servers...)
	for i := range changed.Servers {
		changed.Servers[i].Hint = program.Hint(changed.Servers[i].Hint)
	}
	return &changed, nil
}
