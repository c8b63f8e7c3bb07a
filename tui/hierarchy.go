package tui

import "slices"

// maxHistory is the maximum number of views that [ and ] go through.
const maxHistory = 50

// history is the list of views that were visible. at is the index of the visible one.
type history struct {
	views []*view
	at    int
}

// add makes v the newest view. It drops the views that the user had gone back from and, beyond maxHistory, the oldest one.
func (h *history) add(v *view) {
	h.views = append(h.views[:min(h.at+1, len(h.views))], v)
	h.views = h.views[max(0, len(h.views)-maxHistory):]
	h.at = len(h.views) - 1
}

// view returns the visible view.
func (a *App) view() *view { return a.history.views[a.history.at] }

// home returns the overview, which is above all other views.
func (a *App) home() *view {
	if a.root == nil {
		a.root = newView(overviewKind, "", "")
	}
	return a.root
}

// open goes to a view. Opening the visible view again changes nothing.
func (a *App) open(v *view) {
	now := a.view()
	if v == now || now.kind == v.kind && now.scope == v.scope {
		return
	}
	if v.kind == overviewKind {
		v = a.home()
	} else if v.up == nil {
		v.up = a.above(v)
	}
	a.before = now
	a.history.add(v)
	a.changed()
}

// above returns the view that is one level up from v if the user did not come down to v from another view.
func (a *App) above(v *view) *view {
	switch {
	case v.server != "" && v.kind != backendsKind:
		return v.serverPage(a)
	case v.session != "":
		all := newView(sessionsKind, "", "")
		all.up = a.home()
		return all
	}
	return a.home()
}

// deeper opens a view below the visible one. If that view is already above the visible one, deeper goes back
// to it.
func (a *App) deeper(k *Kind, of scope) {
	for up := a.view().up; up != nil; up = up.up {
		if up.kind == k && up.scope == of {
			a.open(up)
			return
		}
	}
	v, now := newViewOf(k, of), a.view()
	v.up = now
	if of.server != "" && now.server == "" && k != backendsKind && k != callKind {
		v.up = nil // the server's page is between the two
	}
	a.open(v)
}

// leap moves n steps through the history. Beyond an end of the history, it only notifies the user.
func (a *App) leap(n int) {
	to := a.history.at + n
	switch {
	case to < 0:
		a.notify("[: this is the oldest view in the history", Warn)
		return
	case to >= len(a.history.views):
		a.notify("]: this is the newest view in the history", Warn)
		return
	}
	a.before = a.view()
	a.history.at = to
	a.changed()
}

// serverTabs lists the views of a server's page in the order in which tab goes through them.
var serverTabs = []*Kind{backendsKind, callsKind, toolsKind, promptsKind, resourcesKind, templatesKind, subscriptionsKind, logsKind, actorsKind}

// isServerPage reports whether the view is a tab of a server's page.
func (v *view) isServerPage() bool { return v.server != "" && slices.Contains(serverTabs, v.kind) }

// nextPart goes to the next panel, or to the next tab of a server's page.
func (a *App) nextPart(n int) {
	v := a.view()
	switch {
	case len(v.panels) > 1:
		for i := 1; i <= len(v.panels); i++ {
			next := (v.focus + n*i + len(v.panels)*i) % len(v.panels)
			if v.panels[next].visible() {
				v.selectPanel(next)
				return
			}
		}
	case v.isServerPage():
		at := slices.Index(serverTabs, v.kind)
		a.openTab(serverTabs[(at+n+len(serverTabs))%len(serverTabs)])
	}
}

// openTab goes to a tab of the page of the view's server.
func (a *App) openTab(k *Kind) {
	v := a.view()
	page := v.serverPage(a)
	if k == backendsKind {
		a.open(page)
		return
	}
	next := newView(k, v.server, "")
	next.up = page
	a.open(next)
}

// serverPage returns the page of the view's server: the view itself, one above it, or a new one.
func (v *view) serverPage(a *App) *view {
	for up := v; up != nil; up = up.up {
		if up.kind == backendsKind && up.scope == (scope{server: v.server}) {
			return up
		}
	}
	page := newView(backendsKind, v.server, "")
	page.up = a.home()
	return page
}
