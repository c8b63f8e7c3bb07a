package interop

import (
	"context"
	"slices"
	"strings"
	"time"
)

func (t *talk) updated(ctx context.Context) error {
	if t.watched == "" {
		return errNone
	}
	if t.touch.tool != "" {
		if err := t.ask(ctx, t.touch, nil); err != nil {
			return err
		}
	}
	return t.heard().wait(ctx, 0, "updated "+t.uri(t.fixture, t.watched))
}

// quiet waits until no list_changed notification of the fixture's list has arrived for 400 ms. The gateway collects changes for a shorter
// time.
func (t *talk) quiet(ctx context.Context) {
	for {
		since := t.heard().count()
		limit, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		err := t.heard().wait(limit, since, t.changes+"/list_changed")
		cancel()
		if err != nil {
			return
		}
	}
}

// listChanged changes a list. The client must be notified, and the list must contain the change. Notifications of other clients' changes may
// arrive first.
func (t *talk) listChanged(ctx context.Context) error {
	if t.unseen() {
		t.quiet(ctx)
	}
	since := t.heard().count()
	if err := t.ask(ctx, t.change, nil); err != nil {
		return err
	}
	made := strings.ReplaceAll(t.made, "{cell}", t.cell)
	for {
		if err := t.heard().wait(ctx, since, t.changes+"/list_changed"); err != nil {
			return err
		}
		since = t.heard().count()
		items, err := t.list(ctx, t.changes)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(items, func(item string) bool { return strings.HasSuffix(item, made) }) {
			return nil
		}
	}
}

// logs waits for a log message of a call. In a cluster, it repeats the call: a message that the gateway cannot assign to a call reaches only
// the clients whose sessions are at home on the node that has received it. That happens while a canceled call runs; see question.
func (t *talk) logs(ctx context.Context) error {
	if t.log.tool == "" && t.fixture.prepare == nil {
		return errNone
	}
	since := 0
	for {
		if t.log.tool != "" {
			since = t.heard().count()
			if err := t.ask(ctx, t.log, nil); err != nil {
				return err
			}
		}
		if *balancer == "" {
			return t.heard().wait(ctx, since, "log ")
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := t.heard().wait(within, since, "log ")
		if cancel(); err == nil || ctx.Err() != nil {
			return err
		}
	}
}
