package tui

import (
	"context"

	"goblin-actor/internal/status"
)

func (f *fixed) Series(context.Context, int64) ([]status.Series, error) { return f.get().rates, nil }

func (f *fixed) Usage(context.Context) ([]status.ItemUsage, error) { return f.get().Usage, nil }

func (*fixed) Item(context.Context, string, string) ([]byte, error) {
	return nil, status.ErrNotThere
}
