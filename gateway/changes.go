package gateway

import (
	"context"
	"iter"
	"time"

	"goblin-actor/internal/status"
)

// Change is what has become of one server's items of one kind. Names and URIs are those clients see.
type Change struct {
	Topic   string    // tool-changed, prompt-changed, resource-changed or template-changed
	Server  string    // whose items they are, or were
	Version uint64    // of the catalog that has it
	Time    time.Time // when that was published

	// The first 20 of each, in list order; names are cut at 200 bytes.
	Added   []string
	Removed []string
	Changed []ItemChange

	Counts ChangeCounts // how many there are of each
	Missed uint64       // so many changes before this one are lost, because they were not taken in time
}

// ItemChange is an item that is still there and says something else.
type ItemChange struct {
	Name    string
	Members []string // of its definition that differ: "inputSchema"; none: it is only arranged in another way, or too large to be looked into
}

// ChangeCounts are how many items a Change is about.
type ChangeCounts struct{ Added, Removed, Changed int }

// Changes yields what becomes of the catalog from now on, until ctx ends, the gateway stops or the loop is left. When it yields, the
// catalog is that way already, or newer.
//
// The gateway keeps the newest 4096 changes (8 MiB at most). Who is slower than that loses the oldest, and Change.Missed says how many; nobody
// else waits for him.
func (g *Gateway) Changes(ctx context.Context) iter.Seq[Change] {
	changes := g.actors.Changes()
	from := changes.Last()
	return func(yield func(Change) bool) {
		after := from // whoever ranges twice begins again
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
