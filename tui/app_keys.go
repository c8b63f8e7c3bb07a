package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"goblin-actor/internal/status"
)

// InputHandler implements tview.Primitive. It handles a key according to the mode.
func (a *App) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return func(e *tcell.EventKey, _ func(tview.Primitive)) {
		switch a.mode {
		case modeCommand, modeFilter:
			a.typed(e)
		case modeConfirm:
			a.answered(e)
		case modeHelp:
			a.helpKey(e)
		default:
			a.dispatch(e)
		}
	}
}

// dispatch looks the key up in actions and runs its action.
func (a *App) dispatch(e *tcell.EventKey) {
	for i := range actions {
		act := &actions[i]
		if !act.is(e) {
			continue
		}
		if act.disabled != nil {
			if why := act.disabled(a); why != "" {
				a.notify(act.key+": "+why, Warn)
				return
			}
		}
		act.do(a, e)
		return
	}
	if e.Key() == tcell.KeyRune {
		a.notify(fmt.Sprintf("%s: unknown key; press ? for a list of keys, ctrl-c to quit", plain(string(e.Rune()))), Warn)
	}
}

func (a *App) helpKey(e *tcell.EventKey) {
	switch {
	case e.Key() == tcell.KeyDown || e.Key() == tcell.KeyRune && e.Rune() == 'j':
		a.helpTop++
	case e.Key() == tcell.KeyUp || e.Key() == tcell.KeyRune && e.Rune() == 'k':
		a.helpTop = max(0, a.helpTop-1)
	case e.Key() == tcell.KeyPgDn:
		a.helpTop += 10
	case e.Key() == tcell.KeyPgUp:
		a.helpTop = max(0, a.helpTop-10)
	default:
		a.mode = modeBrowse
	}
}

// enter opens the view that the selected row leads to, or the panel if there is none.
func (a *App) enter(*tcell.EventKey) {
	v, r := a.view(), a.view().table.row()
	to := kindOf(cmp.Or(r.Goto, v.kind.Enter))
	switch {
	case to == nil:
		a.describe()
	case v.kind == sessionsKind:
		a.open(newView(to, "", r.Session))
	default:
		a.open(newView(to, cmp.Or(r.Server, v.server), ""))
	}
}

// back closes the panel, clears the filter, or returns to the previous view in the trail.
func (a *App) back(*tcell.EventKey) {
	v := a.view()
	switch {
	case a.panel:
		a.panel = false
	case v.table.query != "":
		v.setFilter("")
	case len(a.trail) > 1:
		a.before = v
		a.trail = a.trail[:len(a.trail)-1]
		a.shown()
	}
}

func (a *App) digit(e *tcell.EventKey) { a.open(newView(byDigit[e.Rune()-'0'], "", "")) }

func (a *App) lastView(*tcell.EventKey) { a.open(a.before) }

func (a *App) describe() {
	a.panel = !a.panel
	a.panelTop = 0
}

func (a *App) logs(*tcell.EventKey) {
	server := a.view().server
	if r := a.view().table.row(); r != nil && r.Server != "" {
		server = r.Server
	}
	a.open(newView(logsKind, server, ""))
}

// narrow toggles between the selected row's server and all servers.
func (a *App) narrow(*tcell.EventKey) {
	v := a.view()
	if v.server != "" {
		v.server = ""
	} else {
		v.server = v.table.row().Server
	}
	v.narrow()
	v.table.apply()
}

func (a *App) faults(*tcell.EventKey) {
	t := a.view().table
	t.onlyFaults = !t.onlyFaults
	t.apply()
}

func (a *App) sortBy(e *tcell.EventKey) {
	v := a.view()
	i := slices.IndexFunc(v.kind.Columns, func(c Column) bool { return c.Sort == e.Rune() })
	if i < 0 {
		a.notify(fmt.Sprintf("shift+%c: no such column; %s", e.Rune(), cmp.Or(sortLetters(v.kind), "this view cannot be sorted")), Warn)
		return
	}
	v.table.sort(i)
}

func (a *App) moveLine(e *tcell.EventKey) { a.view().table.move(direction(e)); a.panelTop = 0 }

func (a *App) movePage(e *tcell.EventKey) {
	t := a.view().table
	t.move(direction(e) * max(1, t.height-1))
	a.panelTop = 0
}

func (a *App) moveEnd(e *tcell.EventKey) {
	t := a.view().table
	t.move(direction(e) * len(t.shown))
	a.panelTop = 0
}

func (a *App) moveSide(e *tcell.EventKey) {
	t := a.view().table
	t.left = max(0, min(t.left+direction(e), len(t.columns)-1))
}

func (a *App) scrollPanel(e *tcell.EventKey) { a.panelTop = max(0, a.panelTop+direction(e)) }

// danger asks for confirmation of an action that cannot be undone.
func (a *App) danger(*tcell.EventKey) {
	v, r := a.view(), a.view().table.row()
	a.act = status.Action{Verb: v.kind.Danger}
	switch v.kind.Danger {
	case status.Restart:
		a.act.Server = r.Server
		a.confirm = fmt.Sprintf("restart server %s? y/n", plain(r.Server))
	case status.Cancel:
		a.act.Call = r.Call
		a.confirm = fmt.Sprintf("cancel this call of %s to %s? y/n", r.Cells[0].Text, plain(r.Server))
	}
	a.mode = modeConfirm
}

// answered handles the answer to the confirmation. Every key except y means no.
func (a *App) answered(e *tcell.EventKey) {
	a.mode = modeBrowse
	if e.Key() != tcell.KeyRune || e.Rune() != 'y' && e.Rune() != 'Y' {
		a.notify("canceled", Plain)
		return
	}
	act := a.act
	go func() {
		ctx, cancel := context.WithTimeout(a.ctx, requestTime)
		defer cancel()
		err := a.source.Act(ctx, act)
		result := outcome{fmt.Sprintf("%s %s: requested", act.Verb, cmp.Or(act.Server, act.Call)), Good}
		if err != nil {
			result = outcome{err.Error(), Bad}
		}
		select {
		case a.outcomes <- result:
		default: // full: the screen has not yet shown the last sixteen
		}
		a.hurry()
	}()
}
