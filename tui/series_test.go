package tui

import (
	"context"

	"goblin-actor/internal/status"
)

func (f *fixed) Usage(context.Context) ([]status.ItemUsage, error) { return f.get().Usage, nil }

func (*fixed) Item(context.Context, string, string) ([]byte, error) {
	return nil, status.ErrNotThere
}
