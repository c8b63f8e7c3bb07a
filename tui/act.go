package tui

import (
	"cmp"
	"context"
	"strings"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// modeActs is the mode in which the actions of a row are listed.
const modeActs mode = "acts"

// acting is the state of forms, of sheets and of the list of actions.
type acting struct {
	later    chan func() // see afterwards
	readOnly bool        // the gateway refuses every action of this console
	config   string      // Options.Config
	form     *itemForm   // nil = no form is open
	acts     []rowAct    // the actions that are listed
	actsOf   string      // " of " and the row they belong to; "" = no row
	actAt    int         // index of the selected action
	word     string      // what the user has typed to confirm an action
	sheet    *sheet      // nil = no sheet is open
	logins   Logins      // nil = the console cannot log in

	explain func(ctx context.Context, who, item string) (string, error) // Options.Explain
}

// rowAct is an action of a row or of the gateway.
type rowAct struct {
	label   string
	command string // command line, or the request to the admin socket if there is no command
	why     string // why the console cannot perform it; "" = it can
	word    string // the user must type this word to confirm; "" = no word
	do      func() // performs it, perhaps after a question; not called if why is set
}

// listActs lists the actions of the selected row.
func (a *App) listActs(*tcell.EventKey) {
	a.acts, a.actAt, a.word, a.actsOf = a.rowActs(), 0, "", ""
	if row := a.view().table.row(); row != nil {
		a.actsOf = " of " + row.title()
	}
	a.mode = modeActs
}

// rowActs returns the actions of the selected row, then those of the gateway.
func (a *App) rowActs() []rowAct {
	var acts []rowAct
	if r := a.view().table.row(); r != nil {
		if i, ok := a.formItem(); ok {
			acts = append(acts, a.itemActs(i)...)
		}
		if t, ok := a.toolTarget(r); ok {
			acts = append(acts, a.switchActs(t)...)
		}
		if a.view().part().Danger == status.Cancel {
			acts = append(acts, a.cancelAct(r))
		}
		if a.view().part().Danger == status.End {
			acts = append(acts, rowAct{label: "end the session", command: `POST /actions/end {"session": ` + string(form.Quoted(r.Session)) + "}", why: a.noEnd(r), do: a.ending(r)})
		}
		if server := cmp.Or(r.Server, a.view().server); server != "" {
			acts = append(append(acts, a.serverActs(server)...), a.loginActs(server, r.Whose)...)
		}
	}
	reload, drain := a.aimed(status.Action{Verb: status.Reload}), a.aimed(status.Action{Verb: status.Drain})
	acts = append(acts, a.recordAct(),
		rowAct{label: "reload the configuration", command: "POST /actions/reload {}", do: func() {
			a.ask("reload the configuration? y/n", func() { a.perform(reload) })
		}},
		rowAct{label: "drain and stop the gateway", command: "goblin-actor drain", word: "drain", do: func() { a.perform(drain) }})
	for i := range acts {
		if a.readOnly && acts[i].do != nil {
			acts[i].why = "this console is read-only"
		}
	}
	return append(a.explainActs(), acts...) // explaining changes nothing, so a read-only console permits it
}

func (a *App) itemActs(i formItem) []rowAct {
	label := map[form.Verb]string{form.Call: "call the tool", form.Prompt: "get the prompt", form.Read: "read the resource"}[i.verb]
	name := form.Quote(i.item.Public)
	if strings.HasPrefix(name, "-") {
		name = "-- " + name
	}
	return []rowAct{
		{label: label, command: "goblin-actor " + string(i.verb) + " " + name, do: func() { a.openFormOf(i, nil) }},
		{label: "describe it", command: "goblin-actor describe " + name, why: "press d here, or run it in a shell"},
	}
}

func (a *App) cancelAct(r *Row) rowAct {
	act := rowAct{label: "cancel the call", command: `POST /actions/cancel {"call": ` + string(form.Quoted(r.Call)) + "}",
		do: a.canceling(r)}
	if r.Call == "" {
		act.command, act.why = "POST /actions/cancel", "this call has ended"
	}
	return act
}

func (a *App) serverActs(server string) []rowAct {
	name := form.Quote(server)
	const shell = "run it in a shell"
	acts := []rowAct{
		{label: "restart the server", command: restartCommand(server), do: a.restarting(server)},
		a.keepAct(server),
	}
	return append(append(acts, a.switchActs(a.serverTarget(server))...), []rowAct{
		{label: "find what is wrong", command: "goblin-actor doctor " + name, why: shell},
		{label: "follow its log", command: "goblin-actor logs " + name + " --follow", why: "press l here, or " + shell},
	}...)
}

func restartCommand(server string) string { return "goblin-actor restart " + form.Quote(server) }

// commandOf returns the command line of an action, or "" if there is no such command.
func (a *App) commandOf(act status.Action) string {
	switch act.Verb {
	case status.Restart:
		return restartCommand(act.Server)
	case status.Drain:
		return "goblin-actor drain"
	case status.Record:
		return recordCommand(act)
	case status.Payloads:
		return payloadsCommand(act)
	case status.Enable, status.Disable:
		return a.switchCommand(act)
	}
	return ""
}

// actsKey handles a key in the list of actions.
func (a *App) actsKey(e *tcell.EventKey) {
	act := &a.acts[a.actAt]
	switch {
	case a.word != "" || act.word != "" && e.Key() == tcell.KeyRune && e.Rune() == rune(act.word[0]):
		a.wordKey(e, act)
	case e.Key() == tcell.KeyDown, e.Key() == tcell.KeyUp, char('j')(e), char('k')(e):
		a.actAt = (a.actAt + direction(e) + len(a.acts)) % len(a.acts)
	case char('c')(e):
		a.mode = modeBrowse
		a.copyText(oneLine(act.command))
	case e.Key() == tcell.KeyEnter:
		a.choose(act)
	default:
		a.mode = modeBrowse
	}
}

// choose performs an action. If that is impossible, or if the user must first type a word, it says so in the last line.
func (a *App) choose(act *rowAct) {
	switch {
	case act.why != "":
		a.notify(act.label+": "+act.why, Warn)
	case act.word != "":
		a.notify("type "+act.word+" and press enter to confirm", Warn)
	default:
		a.mode = modeBrowse
		act.do()
	}
}

// wordKey handles a key while the user types the word that confirms an action.
func (a *App) wordKey(e *tcell.EventKey, act *rowAct) {
	switch {
	case act.why != "":
		a.notify(act.label+": "+act.why, Warn)
	case e.Key() == tcell.KeyEnter && a.word == act.word:
		a.mode, a.word = modeBrowse, ""
		act.do()
	case e.Key() == tcell.KeyRune && len(a.word) < len(act.word):
		a.word += string(e.Rune())
	default:
		a.mode, a.word = modeBrowse, ""
		a.notify("canceled", Plain)
	}
}

// drawActs draws the actions that fit, each with its command line or request and, if it is unavailable, the reason.
func (a *App) drawActs(screen tcell.Screen, r rect) {
	p := a.colors()
	a.rule(screen, r.x, r.y, r.w, "actions"+a.actsOf, "")
	label := 0
	for _, act := range a.acts {
		label = max(label, width(act.label))
	}
	y := r.y + 1
	for i, act := range a.acts {
		if y >= r.y+r.h {
			break
		}
		mark, style := "  ", p.Health[Plain]
		if act.why != "" {
			style = p.Health[Quiet]
		}
		if i == a.actAt {
			mark, style = "▌ ", p.selected(Plain)
		}
		a.selects(rect{r.x, y, r.w, 1}, func() { a.actAt, a.word = i, "" })
		n := put(screen, r.x, y, r.w, mark+act.label, style, nil, style)
		if x := r.x + max(n, label+2) + 2; x < r.x+r.w {
			text := "= " + plain(act.command)
			if i == a.actAt && a.word != "" {
				text += "  confirm: " + plain(a.word) + "_"
			}
			room := r.x + r.w - x
			if act.why != "" {
				room = max(min(room, 40), room-width(act.why)-2) // a long command is cut rather than the reason
			}
			n := put(screen, x, y, room, text, p.Key, nil, p.Key)
			if x += n + 2; act.why != "" && x < r.x+r.w {
				put(screen, x, y, r.x+r.w-x, act.why, p.Hint, nil, p.Hint)
			}
		}
		y++
	}
}
