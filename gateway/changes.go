package gateway

import (
	"context"
	"iter"
	"time"

	"goblin-actor/internal/status"
)

// Change describes how one server's items of one kind have changed. Names and URIs are those that clients see.
type Change struct {
	Topic   string    // the kind of item: tool-changed, prompt-changed, resource-changed or template-changed
	Server  string    // server the items belong or belonged to
	Version uint64    // first catalog version with the change
	Time    time.Time // when that version was published

	// Each list has at most its first 20 items, in list order. Names and URIs are truncated to 200 bytes.
	Added   []string
	Removed []string
	Changed []ItemChange

	Counts ChangeCounts // total numbers of items
	Missed uint64       // number of changes lost before this one because the consumer was too slow
}

// ItemChange is an item whose definition has changed.
type ItemChange struct {
	Name string
	// Members names the top-level fields of the definition that differ, such as "inputSchema". It is empty if only the
	// formatting differs or if the definition is too large to compare.
	Members []string
}

// ChangeCounts holds the numbers of items in a Change.
type ChangeCounts struct{ Added, Removed, Changed int }

// Changes returns an iterator over the changes to the catalog that happen after Changes has been called. The iterator
// ends when ctx ends or the gateway stops. When it yields a change, the catalog already shows it.
//
// The gateway retains the newest 4096 changes, at most 8 MiB. A consumer that falls further behind loses the oldest ones, and
// Change.Missed says how many. A slow consumer does not delay others.
func (g *Gateway) Changes(ctx context.Context) iter.Seq[Change] {
	changes := g.actors.Changes()
	from := changes.Last()
	return func(yield func(Change) bool) {
		after := from // ranging again starts from the same point
		for {
			list, more := changes.After(after)
			for i := range list {
				c := changeOf(&list[i])
				c.Missed = list[i].Number - after - 1
				after = list[i].Number
				if ctx.Err() != nil || !yield(c) {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			case <-g.stopped:
				return
			}
		}
	}
}

func changeOf(c *status.CatalogChange) Change {
	change := Change{Topic: c.Topic, Server: c.Server, Version: c.Version, Time: c.Time, Added: c.Added, Removed: c.Removed, Counts: ChangeCounts(c.Counts)}
	for _, item := range c.Changed {
		change.Changed = append(change.Changed, ItemChange(item))
	}
	return change
}
