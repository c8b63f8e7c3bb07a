package actors

import (
	"context"
	"fmt"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// itemKinds are the names of the kinds of items in the status.
var itemKinds = [protocol.ItemKinds]string{protocol.Tools: "tool", protocol.Prompts: "prompt", protocol.Resources: "resource", protocol.Templates: "template"}

// Series returns what happened in the recent past: see status.Source.
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
	if s != nil {
		for i, name := range itemKinds {
			if kind != "" && kind != name {
				continue
			}
			for _, e := range s.Whole().Entries(protocol.ItemKind(i)) {
				if e.Public == public {
					return e.Raw(), nil
				}
			}
		}
	}
	return nil, fmt.Errorf("item %q: %w", public, status.ErrNotThere)
}
