package tui

import (
	"strconv"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// action binds a key to a function. The hint bar, the help, dispatch and docs/tui.md are all derived from the table
// actions.
type action struct {
	key      string // name of the key as shown to users
	label    string // label in the hint bar
	help     string
	is       func(*tcell.EventKey) bool
	do       func(a *App, e *tcell.EventKey)
	labelNow func(a *App) string // a label that depends on the state, used if it fits in the hint bar; nil = always label
	disabled func(a *App) string // why the action is unavailable, or ""; nil = always available
	hint     hint
}

// hint says where the hint bar shows a key, if at all.
type hint uint8

const (
	unhinted hint = iota
	hintView      // in the hint bar: actions on this view
	hintLast      // at the end of the bar: help and quit
)

// actions lists all keys of browse mode. It is filled by init, because the actions refer to it.
var actions []action

func init() {
	actions = []action{
		{key: ":", label: "go", help: "go to a view: `:tools`, `:tools github` for one server only; tab completes, `:palette contrast` changes the colors, `:mouse off` and `:mouse on` turn the mouse off and on, `:quit` quits", is: char(':'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeCommand, "") }, hint: hintView},
		{key: "/", label: "filter", help: "show only rows that contain this text, with matches highlighted; `/mime:text/` searches one column, `/outcome:!ok` shows the rows without it, `/total>100ms` compares, several conditions are separated by spaces, `/!text` shows the other rows. Enter keeps the filter, esc clears it", is: char('/'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeFilter, a.view().filter()) }, hint: hintView},
		{key: "0–9", label: "views", help: "go to a view: " + digitViews(), is: isDigit, do: (*App).digit},
		{key: "enter", label: "open", help: "go deeper: from a server, a call or an actor to its page, from a session or a connection to calls, from a project to its sessions; fold or unfold a group; elsewhere, open or close the side panel", is: keys(tcell.KeyEnter), do: (*App).enter, disabled: needsRow, hint: hintView},
		{key: "esc", label: "up", help: "close the panel; otherwise clear the filter; otherwise go one level up", is: keys(tcell.KeyEscape), do: (*App).back, disabled: noBack},
		{key: "q", label: "up", help: "same as `esc`; if `esc` does nothing, quit (asks first if that stops the gateway)", is: char('q'), do: (*App).leave, hint: hintLast, labelNow: leaveLabel},
		{key: "[ ]", label: "history", help: "go back and forward through the views that were visible", is: anyOf(char('['), char(']')), do: func(a *App, e *tcell.EventKey) { a.leap(direction(e)) }, disabled: noHistory},
		{key: "-", label: "last", help: "return to the previous view", is: char('-'), do: (*App).lastView, disabled: noBefore},
		{key: "tab", label: "next panel", help: "go to the next panel of the overview or of a call's page, or the next tab of a server's page; shift+tab: to the previous one", is: keys(tcell.KeyTab, tcell.KeyBacktab), do: func(a *App, e *tcell.EventKey) { a.nextPart(direction(e)) }, disabled: noParts},
		{key: "d", label: "describe", help: "open or close the side panel with the selected row's details", is: char('d'), do: func(a *App, _ *tcell.EventKey) { a.describe() }, disabled: needsRow, hint: hintView},
		{key: "f", label: "full", help: "show the selected row's details on the full screen", is: char('f'), do: func(a *App, _ *tcell.EventKey) { a.mode, a.json, a.panelTop = modeFull, false, 0 }, disabled: needsRow},
		{key: "y", label: "json", help: "show the selected row's details as JSON on the full screen", is: char('y'), do: func(a *App, _ *tcell.EventKey) { a.mode, a.json, a.panelTop = modeFull, true, 0 }, disabled: needsRow},
		{key: "r", label: "run", help: "call the tool, get the prompt, read the resource or fill in the template, in a form; ctrl-r sends it, ctrl-d cancels, esc leaves. On an ended call: its form again (on its page, with kept arguments). On an actor, a server or a running call: record messages of the actor, or of the server's actors", is: char('r'), do: (*App).runRow, disabled: noRun, hint: hintView, labelNow: runLabel},
		{key: "x", label: "actions", help: "list the actions for the row, each with its command line and, if it is unavailable, the reason", is: char('x'), do: (*App).listActs, hint: hintView},
		{key: "c", label: "copy", help: "copy the selected row: then `c` its name, `r` the row as shown, `j` its details as JSON; of tools, prompts, resources and calls also `l` the command line, `p` the JSON-RPC request, `u` a curl command (without key), `t` a txtar archive. In a form, `ctrl-y`", is: char('c'), do: func(a *App, _ *tcell.EventKey) { a.mode = modeCopy }, disabled: needsRow, hint: hintView},
		{key: "l", label: "log", help: "show the log of the row's server, or the whole log", is: char('l'), do: (*App).logs, hint: hintView},
		{key: "s", label: "server", help: "show only the row's server or all; in the overview, open its page", is: char('s'), do: (*App).narrow, disabled: needsServer, hint: hintView, labelNow: narrowLabel},
		{key: "space", label: "pause", help: "freeze the screen while the console keeps receiving data; again: continue", is: char(' '), do: (*App).pause, hint: hintView, labelNow: pauseLabel},
		{key: "v", label: "level", help: "in logs, the lowest level shown: info, warn, error, debug", is: char('v'), do: func(a *App, _ *tcell.EventKey) { a.view().table.nextLevel() }, disabled: noLevels, hint: hintView},
		{key: "w", label: "wrap", help: "in logs, wrap long lines; again: cut them", is: char('w'), do: func(a *App, _ *tcell.EventKey) { t := a.view().table; t.wraps = !t.wraps }, disabled: noLevels, hint: hintView},
		{key: ", .", label: "window", help: "compute rates over a shorter or longer time: 1 min, 5 min, 2 h", is: anyOf(char(','), char('.')), do: (*App).widen},
		{key: "ctrl-d", label: "restart/cancel", help: "restart the server, cancel the call, end the session, or disable the tool, after confirmation", is: ctrl('d'), do: (*App).danger, disabled: noDanger, hint: hintView, labelNow: dangerLabel},
		{key: "ctrl-z", label: "faults", help: "show only unhealthy rows; again: show all", is: ctrl('z'), do: (*App).faults, labelNow: faultsLabel},
		{key: "ctrl-w", label: "all columns", help: "show all columns and, in metrics, also the Go runtime's; again: those that matter most", is: ctrl('w'), do: func(a *App, _ *tcell.EventKey) { t := a.view().table; t.all = !t.all; t.apply() }},
		{key: "shift+letter", label: "sort", help: "sort by a column; again: reverse the order; a third time: restore it. `?` shows the letters", is: isSort, do: (*App).sortBy},
		{key: "↑ ↓ j k", label: "move", help: "select the row above or below", is: anyOf(keys(tcell.KeyUp, tcell.KeyDown), char('k'), char('j')), do: (*App).moveLine},
		{key: "pgup pgdn", label: "page", help: "move a screen up or down", is: keys(tcell.KeyPgUp, tcell.KeyPgDn), do: (*App).movePage},
		{key: "home end", label: "ends", help: "select the first or the last row; at the end of logs, follow new lines", is: keys(tcell.KeyHome, tcell.KeyEnd), do: (*App).moveEnd},
		{key: "← →", label: "columns", help: "scroll to columns left or right of the screen", is: keys(tcell.KeyLeft, tcell.KeyRight), do: (*App).moveSide},
		{key: "{ }", label: "panel", help: "scroll the side panel", is: anyOf(char('{'), char('}')), do: (*App).scrollPanel},
		{key: "?", label: "help", help: "list all keys", is: char('?'), do: func(a *App, _ *tcell.EventKey) { a.mode, a.helpTop = modeHelp, 0 }, hint: hintLast},
		{key: "ctrl-l", label: "redraw", help: "redraw the screen", is: ctrl('l'), do: func(a *App, _ *tcell.EventKey) { a.redraw() }},
		{key: "ctrl-c", label: "quit", help: "quit at once; the gateway keeps running unless it was started with `serve --tui`", is: ctrl('c'), do: func(a *App, _ *tcell.EventKey) { a.quit() }},
	}
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

// Keys returns the key bindings and the sort letters as Markdown tables.
func Keys() string {
	var b strings.Builder
	b.WriteString("| key | what it does |\n|---|---|\n")
	for _, a := range actions {
		b.WriteString("| `" + a.key + "` | " + a.help + " |\n")
	}
	b.WriteString("\n| view | shift+letter sorts by |\n|---|---|\n")
	for _, k := range allKinds() {
		if letters := sortLetters(k); letters != "" {
			b.WriteString("| " + k.Name + " | " + letters + " |\n")
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
