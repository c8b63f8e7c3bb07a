package tui

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

// action is a key and what it does. The hint bar, the help, the dispatch and docs/tui.md are made from this one table.
type action struct {
	key       string // as people write it
	label     string // in the hint bar
	help      string
	is        func(*tcell.EventKey) bool
	do        func(a *App, e *tcell.EventKey)
	says      func(a *App) string // the label now, where it is not always the same, as far as there is room; nil = label
	dangerous bool                // asks before
	disabled  func(a *App) string // why it cannot be done now; "" = it can. nil = always can
	hint      hint
}

// hint says where a key is shown.
type hint uint8

const (
	unhinted hint = iota
	hintView      // in the hint bar: what can be done here
	hintLast      // in the last line while nothing else is said there: help, and the ways back and out
)

// actions are all keys while nothing is typed. Filled by init: what they do leads back here.
var actions []action

func init() {
	actions = []action{
		{key: ":", label: "go", help: "go to a view: `:tools`, `:tools github` for one server alone; tab completes, `:quit` leaves", is: char(':'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeCommand, "") }, hint: hintView},
		{key: "/", label: "filter", help: "show only rows with this text, matches highlighted; `/mime:text/` looks in one column, `/!text` shows the others. Enter keeps it, esc clears it", is: char('/'), do: func(a *App, _ *tcell.EventKey) { a.prompt(modeFilter, a.view().filter()) }, hint: hintView},
		{key: "0–9", label: "views", help: "go to a view: " + digitViews(), is: isDigit, do: (*App).digit},
		{key: "enter", label: "open", help: "go deeper: from a server to its backends, from there to its calls; else what is known of the row", is: keys(tcell.KeyEnter), do: (*App).enter, disabled: needsRow, hint: hintView},
		{key: "d", label: "describe", help: "open or close the side panel: all that is known of the selected row", is: char('d'), do: func(a *App, _ *tcell.EventKey) { a.describe() }, disabled: needsRow, hint: hintView},
		{key: "l", label: "logs", help: "the log of the row's server", is: char('l'), do: (*App).logs, hint: hintView},
		{key: "s", label: "server", help: "narrow to the row's server; once more: all servers", is: char('s'), do: (*App).narrow, disabled: needsServer, hint: hintView, says: sayNarrow},
		{key: "ctrl-d", label: "restart/cancel", help: "restart the server, or cancel the call; asks before", is: ctrl('d'), do: (*App).danger, dangerous: true, disabled: noDanger, hint: hintView, says: sayDanger},
		{key: "?", label: "help", help: "all keys", is: char('?'), do: func(a *App, _ *tcell.EventKey) { a.mode, a.helpTop = modeHelp, 0 }, hint: hintLast},
		{key: "ctrl-c", label: "quit", help: "leave; the gateway goes on, unless it was started with `serve --tui`", is: ctrl('c'), do: func(a *App, _ *tcell.EventKey) { a.quit() }, hint: hintLast, says: sayQuit},
		{key: "esc", label: "back", help: "close the panel, clear the filter, go back", is: keys(tcell.KeyEscape), do: (*App).back, disabled: noBack, hint: hintLast},
		{key: "-", label: "last", help: "the view before this one", is: char('-'), do: (*App).lastView, disabled: noBefore, hint: hintLast},
		{key: "ctrl-z", label: "faults", help: "show only what is not well; once more: all", is: ctrl('z'), do: (*App).faults, hint: hintLast, says: sayFaults},
		{key: "shift+letter", label: "sort", help: "order by a column; once more the other way round, a third time as it was. `?` shows the letters", is: isSort, do: (*App).sortBy},
		{key: "↑ ↓ j k", label: "move", help: "select the row above or below", is: anyOf(keys(tcell.KeyUp, tcell.KeyDown), char('k'), char('j')), do: (*App).moveLine},
		{key: "pgup pgdn", label: "page", help: "a screen up or down", is: keys(tcell.KeyPgUp, tcell.KeyPgDn), do: (*App).movePage},
		{key: "home end", label: "ends", help: "the first or the last row", is: keys(tcell.KeyHome, tcell.KeyEnd), do: (*App).moveEnd},
		{key: "← →", label: "columns", help: "what stands left or right of the screen", is: keys(tcell.KeyLeft, tcell.KeyRight), do: (*App).moveSide},
		{key: "[ ]", label: "panel", help: "scroll the side panel", is: anyOf(char('['), char(']')), do: (*App).scrollPanel},
		{key: "ctrl-l", label: "redraw", help: "draw the screen anew", is: ctrl('l'), do: func(a *App, _ *tcell.EventKey) { a.redraw() }},
	}
}

func sayNarrow(a *App) string {
	if a.view().server != "" {
		return "all servers"
	}
	return "this server"
}

func sayDanger(a *App) string { return string(a.view().kind.Danger) }

func sayFaults(a *App) string {
	if a.view().table.onlyFaults {
		return "all"
	}
	return "faults"
}

func sayQuit(a *App) string {
	if a.ends {
		return "quit, ends the gateway"
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

// ctrl matches a letter with the control key: terminals send it as the control character, or as the letter it is.
func ctrl(letter rune) func(*tcell.EventKey) bool {
	return keys(tcell.KeyCtrlA+tcell.Key(letter-'a'), tcell.Key(letter-'a'+1))
}

// anyOf matches what one of several matches.
func anyOf(all ...func(*tcell.EventKey) bool) func(*tcell.EventKey) bool {
	return func(e *tcell.EventKey) bool {
		return slices.ContainsFunc(all, func(is func(*tcell.EventKey) bool) bool { return is(e) })
	}
}

// direction is -1 for keys that go up or left, 1 for the others.
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

// byDigit are the views that a digit leads to.
var byDigit = [10]*Kind{overviewKind, serversKind, toolsKind, promptsKind, resourcesKind, logsKind, callsKind, sessionsKind, actorsKind, metricsKind}

// digitViews lists them: 0 overview, 1 servers.
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
		return "there is no row"
	}
	return ""
}

// noBack: the first view, and nothing open in it.
func noBack(a *App) string {
	if a.panel || a.view().table.query != "" || len(a.trail) > 1 {
		return ""
	}
	return "this is where it began; ctrl-c or :quit leaves"
}

func noBefore(a *App) string {
	if a.before == nil {
		return "there was no view before"
	}
	return ""
}

func needsServer(a *App) string {
	if r := a.view().table.row(); a.view().server == "" && (r == nil || r.Server == "") {
		return "the row belongs to no server"
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
			return "this gateway does not say which call it is"
		}
		return ""
	}
	return "nothing to restart or cancel here"
}

// Keys returns the table of keys as Markdown.
func Keys() string {
	var b strings.Builder
	b.WriteString("| key | what it does |\n|---|---|\n")
	for _, a := range actions {
		b.WriteString("| `" + a.key + "` | " + a.help + " |\n")
	}
	b.WriteString("\n| view | shift+letter orders by |\n|---|---|\n")
	for _, k := range kinds {
		if letters := sortLetters(k); letters != "" {
			b.WriteString("| `:" + k.Name + "` | " + letters + " |\n")
		}
	}
	return b.String()
}

// sortLetters lists the columns of a kind that can be ordered by: N name, S state.
func sortLetters(k *Kind) string {
	var parts []string
	for _, c := range k.Columns {
		if c.Sort != 0 {
			parts = append(parts, string(c.Sort)+" "+strings.ToLower(c.Name))
		}
	}
	return strings.Join(parts, ", ")
}
