package admin

import (
	"context"
	"fmt"

	"goblin-actor/internal/status"
)

func (f fixedStatus) Series(context.Context, int64) ([]status.Series, error) { return nil, f.err }

func (f fixedStatus) Item(context.Context, string, string) ([]byte, error) { return nil, f.err }

func (*gateway) Series(_ context.Context, after int64) ([]status.Series, error) {
	return []status.Series{
		{Server: "", Since: 90, Until: 102, Seconds: []status.Interval{{Start: max(after, 100), Calls: 3, Errors: 1, Buckets: []status.Bucket{{Index: 4, Count: 2}, {Index: 81, Count: 1}}, In: 7, Running: 1}}},
		{Server: "files", Since: 95, Until: 102},
	}, nil
}

func (*gateway) Item(_ context.Context, kind, public string) ([]byte, error) {
	if kind != "" && kind != "tool" || public != "files_read" {
		return nil, fmt.Errorf("item %q: %w", public, status.ErrNotThere)
	}
	return []byte(`{"name":"files_read"}`), nil
}
