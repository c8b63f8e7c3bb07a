package tui

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// newInput creates the input line for commands and filters.
func (a *App) newInput() {
	a.input = tview.NewInputField().SetAcceptanceFunc(func(text string, _ rune) bool { return len(text) <= maxPlain })
	a.input.SetChangedFunc(func(text string) {
		if a.mode == modeFilter {
			a.view().setFilter(text)
		}
	})
	a.input.Focus(func(tview.Primitive) {})
}

// prompt opens the input line in mode m with text in it.
func (a *App) prompt(m mode, text string) {
	a.mode = m
	label := ":"
	if m == modeFilter {
		label = "/"
	}
	a.input.SetLabel(label).SetText(text)
}

// typed handles a key in the input line.
func (a *App) typed(e *tcell.EventKey) {
	switch e.Key() {
	case tcell.KeyEnter:
		m := a.mode
		a.mode = modeBrowse
		if m == modeCommand {
			a.command(a.input.GetText())
		}
	case tcell.KeyEscape:
		if a.mode == modeFilter {
			a.view().setFilter("")
		}
		a.mode = modeBrowse
	case tcell.KeyTab:
		if a.mode == modeCommand {
			a.input.SetText(a.complete(a.input.GetText()))
		}
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if a.input.GetText() == "" {
			a.mode = modeBrowse
			return
		}
		a.forward(e)
	default:
		a.forward(e)
	}
}

func (a *App) forward(e *tcell.EventKey) { a.input.InputHandler()(e, func(tview.Primitive) {}) }

// PasteHandler implements tview.Primitive. Pasted text goes to the input line or to a field of the form. It never
// acts as key presses.
func (a *App) PasteHandler() func(string, func(tview.Primitive)) {
	return func(text string, _ func(tview.Primitive)) {
		if a.mode == modeCommand || a.mode == modeFilter {
			a.input.SetText(plain(a.input.GetText() + text))
		}
		if a.mode == modeForm {
			a.pasteIntoForm(text)
		}
	}
}

// command runs the text typed after the colon: the name of a view, optionally with a server, or palette, mouse or
// quit.
func (a *App) command(line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	if words[0] == "quit" || words[0] == "q" {
		a.quitAsked()
		return
	}
	switch words[0] {
	case "palette":
		a.choosePalette(words[1:])
		return
	case "mouse":
		a.chooseMouse(words[1:])
		return
	}
	name, ok := oneOf(words[0], Views())
	if !ok {
		a.notify("unknown view "+words[0]+"; use one of: "+strings.Join(Views(), " "), Bad)
		return
	}
	server := ""
	if len(words) > 1 {
		if server, ok = oneOf(words[1], a.serverNames()); !ok {
			a.notify("unknown server "+words[1], Bad)
			return
		}
	}
	a.open(newView(kindOf(name), server, ""))
}

// complete returns line with its last word completed. If no name starts with that word, it returns line unchanged.
func (a *App) complete(line string) string {
	names := append(Views(), "mouse", "palette", "quit")
	head, word := "", line
	if at := strings.LastIndexByte(line, ' '); at >= 0 {
		head, word, names = line[:at+1], line[at+1:], a.serverNames()
		switch {
		case strings.HasPrefix(head, "palette "):
			names = Palettes()
		case strings.HasPrefix(head, "mouse "):
			names = []string{"on", "off"}
		}
	}
	if name, ok := oneOf(word, names); ok {
		return head + name
	}
	return line
}

func (a *App) serverNames() []string {
	var names []string
	for _, s := range a.picture.Servers {
		names = append(names, s.Name)
	}
	return names
}

// Views returns the names of the views that can be opened by name.
func Views() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// oneOf returns the name equal to word, or else the first name that starts with it.
func oneOf(word string, names []string) (string, bool) {
	first := ""
	for _, name := range names {
		switch {
		case name == word:
			return name, true
		case first == "" && word != "" && strings.HasPrefix(name, word):
			first = name
		}
	}
	return first, first != ""
}

// setFilter sets the filter to the text typed after the slash. A leading ! inverts it.
func (v *view) setFilter(typed string) {
	v.table.query, v.table.invert = typed, false
	if rest, not := strings.CutPrefix(typed, "!"); not {
		v.table.query, v.table.invert = rest, true
	}
	v.table.apply()
}

// filter returns the filter as it was typed.
func (v *view) filter() string {
	if v.table.invert {
		return "!" + v.table.query
	}
	return v.table.query
}
