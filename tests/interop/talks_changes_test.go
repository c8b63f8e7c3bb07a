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

func (t *talk) logs(ctx context.Context) error {
	since := 0
	if t.log.tool != "" {
		since = t.heard().count()
		if err := t.ask(ctx, t.log, nil); err != nil {
			return err
		}
	} else if t.fixture.prepare == nil {
		return errNone
	}
	return t.heard().wait(ctx, since, "log ")
}
