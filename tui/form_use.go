package tui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// afterwards queues a function for the screen's goroutine, which runs it before it shows the next Picture. afterwards blocks while
// the queue is full. If the console ends, the function may not run.
func (a *App) afterwards(do func()) {
	select {
	case a.later <- do:
		a.hurry()
	case <-a.ctx.Done():
	}
}

// catchUp runs the functions that afterwards has collected.
func (a *App) catchUp() {
	for {
		select {
		case do := <-a.later:
			do()
		default:
			return
		}
	}
}

// send performs what the form describes, in the background, or notes why it cannot. Progress and the answer arrive with later
// Pictures.
func (a *App) send(f *itemForm) {
	u, err := f.current()
	if err == nil {
		err = a.outdated(f)
	}
	if err != nil {
		f.note = "not sent: " + err.Error()
		return
	}
	sent := status.Use{Arguments: u.Arguments}
	switch u.Verb {
	case form.Call:
		sent.Tool = u.Name
	case form.Prompt:
		sent.Prompt = u.Name
	case form.Read:
		sent.URI = u.Name
	}
	ctx, cancel := context.WithCancel(a.ctx)
	use := &running{began: a.now(), cancel: cancel}
	f.use, f.top, f.note = use, 0, ""
	go func() {
		defer cancel()
		answer, err := a.source.Use(ctx, sent, func(e status.UseEvent) { a.afterwards(func() { a.told(f, use, e) }) })
		r := resultOf(answer, err) // here rather than by the screen, because it may be large
		a.afterwards(func() { use.ended, use.result, use.asked = a.now(), r, nil })
	}()
}

// runs reports whether a use is running.
func (f *itemForm) runs() bool { return f.use != nil && f.use.ended.IsZero() }

// outdated returns an error if the tool or prompt of the form is not what it was when the form was opened: the values and the
// answer to "may change something" were meant for another one.
func (a *App) outdated(f *itemForm) error {
	p := a.picture
	if a.paused != nil {
		p = a.paused
	}
	items := p.Items.Tools
	switch f.verb {
	case form.Prompt:
		items = p.Items.Prompts
	case form.Read: // reading changes nothing
		return nil
	}
	i := slices.IndexFunc(items, func(item status.Item) bool { return item.Public == f.item.Public })
	switch {
	case i < 0:
		return errors.New(f.item.Public + " is no longer offered")
	case items[i] != f.item:
		return errors.New(f.item.Public + " has changed since this form was opened; press esc, then r for a new form")
	}
	return nil
}

// stop cancels the use that is running, if any.
func (f *itemForm) stop() {
	if f.runs() {
		f.use.cancel()
	}
}

// state describes a use in one line.
func (u *running) state(now time.Time) (text string, h Health) {
	if u.ended.IsZero() {
		text = short(now.Sub(u.began))
		if p := u.progress; p != nil {
			if p.Total > 0 {
				text = strconv.Itoa(int(100*p.Done/p.Total)) + "%  " + text
			}
			if message := plain(p.Message); message != "" {
				text += "  " + message
			}
		}
		return "running  " + text + "  ctrl-d cancel", Warn
	}
	text = short(u.ended.Sub(u.began))
	switch {
	case u.err != nil:
		return "no answer  " + text, Bad
	case u.answer.Error != nil:
		return "error  " + text, Bad
	case u.failed:
		return "the tool reported an error  " + text, Bad
	}
	return "ok  " + text + "  " + size(int64(len(u.answer.Result))), Good
}

// wrapped returns the lines of the answer, broken into lines of w columns.
func (u *running) wrapped(w int) []string {
	if u.wrapW != w {
		u.wrap, u.wrapW = nil, w
		for _, line := range u.lines {
			if u.wrap = append(u.wrap, wrap(line, w)...); len(u.wrap) > maxPanel {
				break
			}
		}
	}
	return u.wrap
}

// answered returns the answer, or nil if there is none.
func (f *itemForm) answered() []byte {
	if f.use == nil || f.use.ended.IsZero() {
		return nil
	}
	return slices.Concat(f.use.answer.Result, f.use.answer.Error) // one of them is empty
}
