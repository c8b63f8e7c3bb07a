package operate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/admin"
	"goblin-actor/internal/status"
)

// refusing is a Source whose streams fail with an error.
type refusing struct {
	status.Source
	err    error
	opened int
}

func (r *refusing) Follow(context.Context, status.FollowOptions, func(status.Notice) error) error {
	r.opened++
	return r.err
}

// status --watch waits for a gateway that does not answer yet, but not for one that has no streams.
func TestStatusOfAGatewayWithoutStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, c := range []struct {
			err    error
			opened int
		}{{admin.ErrNoStream, 1}, {errors.New("connection refused"), 61}} {
			r := &refusing{err: c.err}
			err := followStatus(ctx, r, status.FollowOptions{}, func(latest) error { return nil })
			if r.opened != c.opened || errors.Is(err, admin.ErrNoStream) != (c.opened == 1) {
				t.Errorf("%v: %d attempts, error %v; want %d", c.err, r.opened, err, c.opened)
			}
		}
	})
}
