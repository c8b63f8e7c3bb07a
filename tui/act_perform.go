package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

// danger asks whether to perform the dangerous action of the selected row: restart its server, cancel its call, end its
// session, or disable the tool.
func (a *App) danger(*tcell.EventKey) {
	r := a.view().table.row()
	if r == nil {
		return
	}
	switch a.view().part().Danger {
	case status.Restart:
		a.restarting(r.Server)()
	case status.Cancel:
		a.canceling(r)()
	case status.End:
		a.ending(r)()
	case status.Disable:
		if t, ok := a.toolTarget(r); ok {
			a.disabling(t)()
		}
	}
}

// restarting returns a function that asks whether to restart a server, and restarts it if the user agrees.
func (a *App) restarting(server string) func() {
	act := a.aimed(status.Action{Verb: status.Restart, Server: server})
	return func() {
		a.ask(fmt.Sprintf("restart server %s? %sy/n", plain(server), a.runningAt(server)), func() { a.perform(act) })
	}
}

// canceling returns a function that asks whether to cancel the call of a row, and cancels it if the user agrees. The call is
// the one that the row shows now, even if the row changes before the function is called. If it has ended already, the function
// does nothing.
func (a *App) canceling(r *Row) func() {
	act, question := a.aimed(status.Action{Verb: status.Cancel, Call: r.Call}), fmt.Sprintf("cancel the call %s of %s? y/n", callItem(r.ID), plain(r.Server))
	return func() {
		if act.Call != "" {
			a.ask(question, func() { a.perform(act) })
		}
	}
}

// runningAt returns a clause that says how many calls run at a server, or "" if none does.
func (a *App) runningAt(server string) string {
	for i := range a.picture.Servers {
		if s := &a.picture.Servers[i]; s.Name == server && s.InFlight > 0 {
			return plural(s.InFlight, "call") + " running there may finish; "
		}
	}
	return ""
}

// ending returns a function that asks whether to end the session of a row, and ends it if the user agrees.
func (a *App) ending(r *Row) func() {
	act, question := a.aimed(status.Action{Verb: status.End, Session: r.Session}), "end session "+plain(r.Session)
	if s := a.sessionOf(r); s != nil {
		question += " of " + plain(cmp.Or(s.Client, "an unknown client")) + "? "
		if s.InFlight > 0 {
			question += plural(s.InFlight, "call") + " running there will fail; "
		}
	}
	return func() { a.ask(question+"y/n", func() { a.perform(act) }) }
}

// noEnd returns why the session of a row cannot be ended, or "".
func (a *App) noEnd(r *Row) string {
	switch s := a.sessionOf(r); {
	case s == nil:
		return "this session has ended"
	case strings.HasPrefix(s.ID, "listen/"):
		return "clients of this protocol version have no session"
	case s.Transport == "stdio":
		return "the client on stdin has only this session; end the client instead"
	}
	return ""
}

// sessionOf returns the session of a row, or nil.
func (a *App) sessionOf(r *Row) *status.Session {
	i := slices.IndexFunc(a.picture.Sessions, func(s status.Session) bool { return s.ID == r.Session })
	if i < 0 {
		return nil
	}
	return &a.picture.Sessions[i]
}

// aimed returns act with an Aim at its present target. The gateway does not let the action affect another target.
func (a *App) aimed(act status.Action) status.Action { return a.picture.Aimed(act) }

// perform sends an action to the gateway, in the background. The result is shown with a later Picture.
func (a *App) perform(act status.Action) {
	if act.Aim == "" {
		act = a.aimed(act)
	}
	done := strings.TrimSpace(fmt.Sprintf("%s %s", act.Verb, cmp.Or(act.Server, act.Call, act.Session, act.Actor))) + ": requested"
	if act.Verb == status.Enable || act.Verb == status.Disable {
		done = a.switched(act)
	}
	if line := a.commandOf(act); line != "" {
		done += "  = " + line
	}
	go func() {
		ctx, cancel := context.WithTimeout(a.ctx, requestTime)
		defer cancel()
		err := a.source.Act(ctx, act)
		result := outcome{done, Good}
		if err != nil {
			result = outcome{err.Error(), Bad}
		}
		a.show(result)
	}()
}

// show queues the result of an action for the next Picture. It drops the result if the queue is full.
func (a *App) show(result outcome) {
	select {
	case a.outcomes <- result:
	default: // full: sixteen results are waiting to be shown
	}
	a.hurry()
}
