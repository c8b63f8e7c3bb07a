package actors

import (
	"context"
	"fmt"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// Series returns time series of the recent past: see status.Local.
func (g *Gateway) Series(ctx context.Context, after int64) ([]status.Series, error) {
	reply := make(chan []status.Series, 1)
	g.seconds.Tell(message.GetSeries{After: after, Reply: reply})
	select {
	case series := <-reply:
		if series == nil {
			return nil, ErrStopped
		}
		return series, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Item returns the complete JSON of the item with that public name: see status.Source.
func (g *Gateway) Item(ctx context.Context, kind, public string) ([]byte, error) {
	s, err := g.catalog(ctx)
	if err != nil {
		return nil, err
	}
	wanted, known := status.KindOfItem(kind)
	for i := range protocol.ItemKind(protocol.ItemKinds) {
		if s == nil || kind != "" && (!known || i != wanted) {
			continue
		}
		for _, e := range s.Whole().Entries(i) {
			if e.Public == public {
				return e.Raw(), nil
			}
		}
	}
	return nil, fmt.Errorf("item %q: %w", public, status.ErrNotThere)
}
