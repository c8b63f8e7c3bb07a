package tui

import "goblin-actor/internal/status"

func narrowLabel(a *App) string {
	if a.view().server != "" {
		return "all servers"
	}
	return "this server"
}

func dangerLabel(a *App) string { return string(a.view().part().Danger) }

func faultsLabel(a *App) string {
	if a.view().table.onlyFaults {
		return "all"
	}
	return "faults"
}

func leaveLabel(a *App) string {
	switch {
	case a.panel || a.view().table.query != "" || a.view() != a.home():
		return "up"
	case a.ends:
		return "quit, ends the gateway"
	}
	return "quit"
}

func pauseLabel(a *App) string {
	if a.paused != nil {
		return "continue"
	}
	return "pause"
}

func needsRow(a *App) string {
	if a.view().table.row() == nil {
		return "no row is selected"
	}
	return ""
}

// noBack returns why esc does nothing, or "" if it does something.
func noBack(a *App) string {
	if a.panel || a.view().table.query != "" || a.view() != a.home() {
		return ""
	}
	return "this is the overview; press q to quit"
}

func noBefore(a *App) string {
	if a.before == nil {
		return "there is no previous view"
	}
	return ""
}

func needsServer(a *App) string {
	if a.view().kind == callKind {
		return "this is one call; press q for the calls"
	}
	if r := a.view().table.row(); a.view().server == "" && (r == nil || r.Server == "") {
		return "this row has no server"
	}
	return ""
}

func noDanger(a *App) string {
	if why := needsRow(a); why != "" {
		return why
	}
	if a.readOnly {
		return "this console is read-only"
	}
	r := a.view().table.row()
	switch a.view().part().Danger {
	case status.Restart:
		if r.Server == "" {
			return "this row has no server"
		}
		return ""
	case status.Cancel:
		if r.Call == "" {
			return "this call has ended"
		}
		return ""
	case status.End:
		return a.noEnd(r)
	case status.Disable:
		if t, ok := a.toolTarget(r); ok {
			return a.noSwitch(t, status.Disable)
		}
		return "this tool belongs to the gateway"
	}
	return "nothing to restart, cancel, end or disable here"
}

func noHistory(a *App) string {
	if len(a.history.views) < 2 {
		return "there is no other view in the history"
	}
	return ""
}

// noParts returns why tab does nothing, or "" if it does something.
func noParts(a *App) string {
	v := a.view()
	if v.isServerPage() {
		return ""
	}
	for i, p := range v.panels {
		if i != v.focus && p.visible() {
			return ""
		}
	}
	return "this view has no other panel"
}

func noLevels(a *App) string {
	if !a.view().kind.Levels {
		return "only logs have levels and long lines; press 5 for the log"
	}
	return ""
}
