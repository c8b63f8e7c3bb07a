package tui

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
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
		case modeFull:
			a.fullKey(e)
		case modeCopy:
			a.copyKey(e)
		case modeForm:
			a.formKey(e)
		case modeSheet:
			a.sheetKey(e)
		case modeActs:
			a.actsKey(e)
		default:
			a.dispatch(e)
		}
	}
}

// dispatch looks the key up in actions and runs its action. If the action is unavailable or the key unknown, the last line says so.
func (a *App) dispatch(e *tcell.EventKey) {
	a.view().touch(a.now())
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
		a.notify(fmt.Sprintf("%s: unknown key; press ? for a list of keys, q to go up", plain(string(e.Rune()))), Warn)
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

// fullKey handles a key on the full screen.
func (a *App) fullKey(e *tcell.EventKey) {
	switch {
	case e.Key() == tcell.KeyDown, e.Key() == tcell.KeyUp, char('j')(e), char('k')(e), char('{')(e), char('}')(e):
		a.panelTop = max(0, a.panelTop+direction(e))
	case e.Key() == tcell.KeyPgDn, e.Key() == tcell.KeyPgUp:
		a.panelTop = max(0, a.panelTop+10*direction(e))
	case char('c')(e):
		a.mode = modeCopy
	case char('y')(e):
		a.json = !a.json
	default:
		a.mode, a.json = modeBrowse, false
	}
}

// enter opens the view that the selected row leads to, folds or unfolds a group, or opens or closes the side panel.
func (a *App) enter(*tcell.EventKey) {
	v, r := a.view(), a.view().table.row()
	to := kindOf(cmp.Or(r.Goto, v.part().Enter))
	switch {
	case r.Branch.Group && v.table.isTree() && (r.Branch.Sum || v.part() != actorsKind): // an actor above others is not folded, since it has a page
		v.table.fold(r)
	case to == nil:
		a.describe()
	case to == callKind:
		a.deeper(to, scope{server: r.Server, call: r.ID})
	case to == actorKind:
		a.deeper(to, scope{actor: r.ID})
	case v.part() == sessionsKind:
		a.deeper(to, scope{session: r.Session})
	case v.part() == projectsKind:
		a.deeper(to, scope{project: r.Project})
	default:
		a.deeper(to, scope{server: cmp.Or(r.Server, v.server)})
	}
}

// back closes the panel, clears the filter, or goes one level up.
func (a *App) back(*tcell.EventKey) {
	v := a.view()
	switch {
	case a.panel:
		a.panel = false
	case v.table.query != "":
		v.setFilter("")
	case v.up != nil:
		a.open(v.up)
	}
}

// leave does what back does. If back would do nothing, leave quits.
func (a *App) leave(e *tcell.EventKey) {
	switch {
	case noBack(a) == "":
		a.back(e)
	default:
		a.quitAsked()
	}
}

// quitAsked quits. If that also stops the gateway, it asks for confirmation first.
func (a *App) quitAsked() {
	if a.ends {
		a.ask("quitting also stops the gateway; quit? y/n", a.quit)
		return
	}
	a.quit()
}

// ask shows a question, and calls onYes if the user answers y.
func (a *App) ask(question string, onYes func()) {
	a.mode, a.confirm, a.onYes = modeConfirm, question, onYes
}

func (a *App) digit(e *tcell.EventKey) { a.open(newView(byDigit[e.Rune()-'0'], "", "")) }

func (a *App) lastView(*tcell.EventKey) { a.open(a.before) }

func (a *App) describe() {
	a.panel = !a.panel
	a.panelTop = 0
	a.view().table.chosen = true // so the panel keeps showing this row
}

func (a *App) logs(*tcell.EventKey) {
	server := a.view().server
	if r := a.view().table.row(); r != nil && r.Server != "" {
		server = r.Server
	}
	a.deeper(logsKind, scope{server: server})
}

// narrow toggles between the selected row's server and all servers. In the overview, it opens the page of that server.
func (a *App) narrow(*tcell.EventKey) {
	v := a.view()
	if v == a.home() {
		a.deeper(backendsKind, scope{server: v.table.row().Server})
		return
	}
	if v.server != "" {
		v.server = ""
	} else {
		v.server = v.table.row().Server
	}
	v.narrow()
	v.up = nil
	v.up = a.above(v)
	v.table.apply()
}

func (a *App) faults(*tcell.EventKey) {
	t := a.view().table
	t.onlyFaults = !t.onlyFaults
	t.apply()
}

func (a *App) sortBy(e *tcell.EventKey) {
	v := a.view()
	i := slices.IndexFunc(v.part().Columns, func(c Column) bool { return c.Sort == e.Rune() })
	if i < 0 {
		a.notify(fmt.Sprintf("shift+%c: no such column; %s", e.Rune(), cmp.Or(sortLetters(v.part()), "this view cannot be sorted")), Warn)
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

// answered handles the answer to the confirmation. Every key except y means no.
func (a *App) answered(e *tcell.EventKey) {
	a.mode = modeBrowse
	if e.Key() != tcell.KeyRune || e.Rune() != 'y' && e.Rune() != 'Y' {
		a.notify("canceled", Plain)
		return
	}
	a.onYes()
}
