package status

import (
	"context"
	"time"
)

// ItemUsage counts the finished calls of one item since the start of the gateway.
type ItemUsage struct {
	Kind     string    `json:"kind"` // tool | prompt | resource | template
	Server   string    `json:"server"`
	Original string    `json:"original"`         // name, URI or template text as the server defines it; RestOfItems = all others of the kind
	Public   string    `json:"public,omitempty"` // the public name in the newest call; empty = unknown
	Calls    uint64    `json:"calls"`
	Failed   uint64    `json:"failed,omitempty"`  // of these, calls whose outcome is not ok
	Refused  uint64    `json:"refused,omitempty"` // of these, calls that the gateway refused, so that the server did not receive them
	Seconds  float64   `json:"seconds"`           // sum of the durations
	Last     time.Time `json:"last,omitzero"`     // end of the newest call
}

// RestOfItems is the Original of calls of items that are not counted separately.
const RestOfItems = "_OTHER"

// Series implements Source.
func (l Local) Series(ctx context.Context, after int64) ([]Series, error) {
	return l.Gateway.Series(ctx, after)
}

// Usage implements Source.
func (l Local) Usage(context.Context) ([]ItemUsage, error) {
	return without(l.Counters.Usage(), l.Known), nil
}

// Item implements Source.
func (l Local) Item(ctx context.Context, kind, public string) ([]byte, error) {
	item, err := l.Gateway.Item(ctx, kind, public)
	return l.Shown(item), err
}

// Usage returns the counters of all items that were called, by server, kind and name.
func (m *Metrics) Usage() []ItemUsage { return []ItemUsage{} }
