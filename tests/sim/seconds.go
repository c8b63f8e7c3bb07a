package sim

import (
	"context"
	"fmt"
	"time"

	"goblin-actor/internal/status"
)

// checkUsage compares the calls of each server's items with the server's counters by method. No call may be in progress.
func (n *node) checkUsage(m samples) {
	calls := map[string]int{}
	for _, u := range n.gateway.Metrics().Usage() {
		kind := u.Kind
		if kind == "template" {
			kind = "resource"
		}
		calls[u.Server+" "+kind] += int(u.Calls)
	}
	for _, s := range n.w.servers {
		for kind, method := range map[string]string{"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"} {
			want := m.sum("goblin_calls_total", fmt.Sprintf("server=%q", s.name), fmt.Sprintf("method=%q", method))
			if got := calls[s.name+" "+kind]; got != want {
				n.violated("/itemz has %d calls of %ss of %s, /metrics has %d", got, kind, s.name, want)
			}
		}
	}
}

// series returns the series that the gateway has recorded.
func (n *node) series() (all []status.Series) {
	n.w.outside(func(ctx context.Context) { all, _ = n.gateway.Series(ctx, 0) })
	return all
}

// checkSeconds compares the seconds and minutes of the gateway with its counters. It checks nothing if a
// call ended in the current second, which is not recorded yet, or if the first minutes are no longer stored.
func (n *node) checkSeconds() {
	all := n.series()
	if len(all) == 0 {
		n.violated("/secondz is empty")
		return
	}
	gateway := all[0]
	for _, f := range n.gateway.Metrics().Finished("", 0) {
		if f.Server != "" && f.Began.Add(time.Duration(f.Seconds*1e9)).Unix() >= gateway.Until {
			return
		}
	}
	if gateway.Until-gateway.Since > (status.MaxMinutes-2)*60 {
		return // the first minutes are no longer stored
	}
	var got status.Totals
	from := (gateway.Until - status.MaxSeconds + 60) / 60 * 60 // minutes before from are complete, and seconds since from are stored
	for i := range gateway.Minutes {
		if gateway.Minutes[i].Start < from {
			got.Add(&gateway.Minutes[i])
		}
	}
	for i := range gateway.Seconds {
		if gateway.Seconds[i].Start >= from {
			got.Add(&gateway.Seconds[i])
		}
	}
	var want status.Totals
	for _, s := range n.gateway.Metrics().Sample(nil) {
		want.Calls, want.Errors = want.Calls+s.Calls, want.Errors+s.Errors
		for i, n := range s.Buckets {
			want.Buckets[i] += n
		}
	}
	if got.Calls != want.Calls || got.Errors != want.Errors || got.Buckets != want.Buckets {
		n.violated("/secondz has %d calls, %d errors and buckets %v; /metrics has %d, %d and %v", got.Calls, got.Errors, got.Buckets, want.Calls, want.Errors, want.Buckets)
	}
	n.w.count("comparison of seconds with counters")
}
