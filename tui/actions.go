package tui

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

// action binds a key to a function. The hint bar, the help, dispatch and docs/tui.md are all derived from the table
// actions.
type action struct {
	key       string // name of the key as shown to users
	label     string // label in the hint bar
	help      string
	is        func(*tcell.EventKey) bool
	do        func(a *App, e *tcell.EventKey)
	labelNow  func(a *App) string // a label that depends on the state, used if it fits in the hint bar; nil = always label
	dangerous bool                // the function asks for confirmation
	disabled  func(a *App) string // why the action is unavailable, or ""; nil = always available
	hint      hint
}

// hint selects the bar that shows a key.
type hint uint8

const (
	unhinted hint = iota
	hintView      // in the hint bar: actions on this view
	hintLast      // in the last line while it is free: help, back and quit
)

// actions lists all keys of browse mode. It is filled by init, because the actions refer to it.
var actions []action

func init() {
	actions = []action{
		{key: ":", label: "go", help: "go to a view: `:tools`, `:tools github` for one server only; tab completes, `:quit` quits", is: char(':'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeCommand, "") }, hint: hintView},
		{key: "/", label: "filter", help: "show only rows that contain this text, with matches highlighted; `/mime:text/` searches one column, `/!text` shows the other rows. Enter keeps the filter, esc clears it", is: char('/'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeFilter, a.view().filter()) }, hint: hintView},
		{key: "0–9", label: "views", help: "go to a view: " + digitViews(), is: isDigit, do: (*App).digit},
		{key: "enter", label: "open", help: "go deeper: from an overview row to its view, from a server to its backends, from a backend to its server's calls, from a session to its calls; elsewhere, show the row's details", is: keys(tcell.KeyEnter), do: (*App).enter, disabled: needsRow, hint: hintView},
		{key: "d", label: "describe", help: "open or close the side panel with the selected row's details", is: char('d'), do: func(a *App, _ *tcell.EventKey) { a.describe() }, disabled: needsRow, hint: hintView},
		{key: "l", label: "logs", help: "show the log of the row's server", is: char('l'), do: (*App).logs, hint: hintView},
		{key: "s", label: "server", help: "show only the row's server; again: show all servers", is: char('s'), do: (*App).narrow, disabled: needsServer, hint: hintView, labelNow: narrowLabel},
		{key: "ctrl-d", label: "restart/cancel", help: "restart the server, or cancel the call, after confirmation", is: ctrl('d'), do: (*App).danger, dangerous: true, disabled: noDanger, hint: hintView, labelNow: dangerLabel},
		{key: "?", label: "help", help: "list all keys", is: char('?'), do: func(a *App, _ *tcell.EventKey) { a.mode, a.helpTop = modeHelp, 0 }, hint: hintLast},
		{key: "ctrl-c", label: "quit", help: "quit; the gateway keeps running unless it was started with `serve --tui`", is: ctrl('c'), do: func(a *App, _ *tcell.EventKey) { a.quit() }, hint: hintLast, labelNow: quitLabel},
		{key: "esc", label: "back", help: "close the panel; otherwise clear the filter; otherwise go back", is: keys(tcell.KeyEscape), do: (*App).back, disabled: noBack, hint: hintLast},
		{key: "-", label: "last", help: "return to the previous view", is: char('-'), do: (*App).lastView, disabled: noBefore, hint: hintLast},
		{key: "ctrl-z", label: "faults", help: "show only unhealthy rows; again: show all", is: ctrl('z'), do: (*App).faults, hint: hintLast, labelNow: faultsLabel},
		{key: "shift+letter", label: "sort", help: "sort by a column; again: reverse the order; a third time: restore it. `?` shows the letters", is: isSort, do: (*App).sortBy},
		{key: "↑ ↓ j k", label: "move", help: "select the row above or below", is: anyOf(keys(tcell.KeyUp, tcell.KeyDown), char('k'), char('j')), do: (*App).moveLine},
		{key: "pgup pgdn", label: "page", help: "move a screen up or down", is: keys(tcell.KeyPgUp, tcell.KeyPgDn), do: (*App).movePage},
		{key: "home end", label: "ends", help: "select the first or the last row", is: keys(tcell.KeyHome, tcell.KeyEnd), do: (*App).moveEnd},
		{key: "← →", label: "columns", help: "scroll to columns left or right of the screen", is: keys(tcell.KeyLeft, tcell.KeyRight), do: (*App).moveSide},
		{key: "[ ]", label: "panel", help: "scroll the side panel", is: anyOf(char('['), char(']')), do: (*App).scrollPanel},
		{key: "ctrl-l", label: "redraw", help: "redraw the screen", is: ctrl('l'), do: func(a *App, _ *tcell.EventKey) { a.redraw() }},
	}
}

func narrowLabel(a *App) string {
	if a.view().server != "" {
		return "all servers"
	}
	return "this server"
}

func dangerLabel(a *App) string { return string(a.view().kind.Danger) }

func faultsLabel(a *App) string {
	if a.view().table.onlyFaults {
		return "all"
	}
	return "faults"
}

func quitLabel(a *App) string {
	if a.ends {
		return "quit and stop the gateway"
	}
	return "quit"
}

func char(r rune) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool { return e.Key() == tcell.KeyRune && e.Rune() == r }
}

// keys matches any of several named keys.
func keys(all ...tcell.Key) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool { return slices.Contains(all, e.Key()) }
}

// ctrl matches control plus a letter. Some terminals send the control character, others the letter with a modifier.
func ctrl(letter rune) func(*tcell.EventKey) bool {
	return keys(tcell.KeyCtrlA+tcell.Key(letter-'a'), tcell.Key(letter-'a'+1))
}

// anyOf matches if any of the given matchers does.
func anyOf(all ...func(*tcell.EventKey) bool) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool {
		return slices.ContainsFunc(all, func(is func(*tcell.EventKey) bool) bool { return is(e) })
	}
}

// direction returns -1 for keys that move up or left, and 1 for all others.
func direction(e *tcell.EventKey) int {
	switch e.Key() {
	case tcell.KeyUp, tcell.KeyPgUp, tcell.KeyHome, tcell.KeyLeft:
		return -1
	case tcell.KeyRune:
		if e.Rune() == 'k' || e.Rune() == '[' {
			return -1
		}
	}
	return 1
}

// byDigit holds the view that each digit key opens.
var byDigit = [10]*Kind{overviewKind, serversKind, toolsKind, promptsKind, resourcesKind, logsKind, callsKind, sessionsKind, actorsKind, metricsKind}

// digitViews lists the views of all digits: "0 overview, 1 servers, …".
func digitViews() string {
	parts := make([]string, len(byDigit))
	for i, k := range byDigit {
		parts[i] = strconv.Itoa(i) + " " + k.Name
	}
	return strings.Join(parts, ", ")
}

func isDigit(e *tcell.EventKey) bool {
	return e.Key() == tcell.KeyRune && e.Rune() >= '0' && e.Rune() <= '9'
}

func isSort(e *tcell.EventKey) bool {
	return e.Key() == tcell.KeyRune && unicode.IsUpper(e.Rune()) && e.Rune() < unicode.MaxASCII
}

func needsRow(a *App) string {
	if a.view().table.row() == nil {
		return "no row is selected"
	}
	return ""
}

// noBack returns why esc does nothing, or "" if it does something.
func noBack(a *App) string {
	if a.panel || a.view().table.query != "" || len(a.trail) > 1 {
		return ""
	}
	return "this is the first view; press ctrl-c to quit"
}

func noBefore(a *App) string {
	if a.before == nil {
		return "there is no previous view"
	}
	return ""
}

func needsServer(a *App) string {
	if r := a.view().table.row(); a.view().server == "" && (r == nil || r.Server == "") {
		return "this row has no server"
	}
	return ""
}

func noDanger(a *App) string {
	if why := needsRow(a); why != "" {
		return why
	}
	r := a.view().table.row()
	switch a.view().kind.Danger {
	case status.Restart:
		return ""
	case status.Cancel:
		if r.Call == "" {
			return "this gateway does not report the call's id"
		}
		return ""
	}
	return "nothing to restart or cancel here"
}

// Keys returns the key bindings and the sort letters as Markdown tables.
func Keys() string {
	var b strings.Builder
	b.WriteString("| key | what it does |\n|---|---|\n")
	for _, a := range actions {
		b.WriteString("| `" + a.key + "` | " + a.help + " |\n")
	}
	b.WriteString("\n| view | shift+letter sorts by |\n|---|---|\n")
	for _, k := range kinds {
		if letters := sortLetters(k); letters != "" {
			b.WriteString("| `:" + k.Name + "` | " + letters + " |\n")
		}
	}
	return b.String()
}

// sortLetters lists the sortable columns of a kind, for example "N name, S state".
func sortLetters(k *Kind) string {
	var parts []string
	for _, c := range k.Columns {
		if c.Sort != 0 {
			parts = append(parts, string(c.Sort)+" "+strings.ToLower(c.Name))
		}
	}
	return strings.Join(parts, ", ")
}
