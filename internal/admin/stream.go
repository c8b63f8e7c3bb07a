package admin

import (
	"context"
	"errors"

	"goblin-actor/internal/status"
)

// Follow implements status.Source.
func (*remote) Follow(context.Context, status.FollowOptions, func(status.Notice) error) error {
	return errors.New("not connected yet")
}
