package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// modeForm is the mode in which a form is filled in.
const modeForm mode = "form"

// itemForm is the form for a call, a prompt or a read.
type itemForm struct {
	formItem
	fieldset
	known   []byte   // arguments of an earlier call, raw JSON; nil = none
	top     int      // first visible line of the answer
	defined bool     // the fields are those of the item's definition
	note    string   // a message about the form, such as why it was not sent
	asking  []string // the question before the call is sent, and the arguments below it; nil = none
	askTop  int      // first visible line of these arguments
	copying bool     // the next key chooses what to copy
	use     *running
}

// running is a use that was sent.
type running struct {
	began    time.Time
	ended    time.Time // zero = not yet
	cancel   context.CancelFunc
	progress *status.UseProgress // nil = none yet
	asked    []*question         // the server's open questions; the first is shown
	result
	wrap  []string // the lines of the answer as they were drawn last
	wrapW int      // in that many columns; 0 = not yet
}

// noForm returns why r does nothing, or "" if it opens a form.
func noForm(a *App) string {
	if why := needsRow(a); why != "" {
		return why
	}
	if a.readOnly {
		return "this console is read-only"
	}
	return ""
}

// formItem is an item for which there is a form.
type formItem struct {
	verb     form.Verb
	item     status.Item
	template bool // the item's name is a URI template
}

// formItem returns the item of the selected row.
func (a *App) formItem() (i formItem, ok bool) {
	r := a.view().table.row()
	if r == nil || r.Off != "" {
		return i, false
	}
	all := a.picture.Items
	items := map[*Kind][]status.Item{toolsKind: all.Tools, promptsKind: all.Prompts, resourcesKind: all.Resources, templatesKind: all.Templates}[a.view().part()]
	for _, item := range items {
		if item.Public == r.ID {
			verb := form.Read
			switch a.view().part() {
			case toolsKind:
				verb = form.Call
			case promptsKind:
				verb = form.Prompt
			}
			return formItem{verb, item, a.view().part() == templatesKind}, true
		}
	}
	return i, false
}

// openFormOf opens the form of an item, filled in with the known arguments. A resource has no arguments and is read at once.
func (a *App) openFormOf(i formItem, known []byte) {
	a.form = &itemForm{formItem: i, known: known}
	a.mode = modeForm
	switch {
	case i.template:
		a.form.defined = true
		a.form.begin(form.TemplateInputs(i.item.Public))
	case i.verb == form.Read:
		a.form.defined = true
		a.form.begin(form.Inputs{})
		a.send(a.form)
	case json.Valid([]byte(i.item.Raw)):
		a.form.define([]byte(i.item.Raw))
	default:
		a.form.begin(form.Inputs{})
		a.form.note = "waiting for the definition"
		a.fetchDefinition(a.form)
	}
}

// fetchDefinition fetches a definition that is truncated in the catalog.
func (a *App) fetchDefinition(f *itemForm) {
	kind := "tool"
	if f.verb == form.Prompt {
		kind = "prompt"
	}
	go func() {
		ctx, cancel := context.WithTimeout(a.ctx, requestTime)
		defer cancel()
		raw, err := a.source.Item(ctx, kind, f.item.Public)
		a.afterwards(func() {
			if err != nil {
				f.note = "no definition: " + err.Error()
				return
			}
			f.note = ""
			f.define(raw)
		})
	}()
}

// define creates the fields from the item's definition.
func (f *itemForm) define(raw []byte) {
	parse := form.ToolInputs
	if f.verb == form.Prompt {
		parse = form.PromptInputs
	}
	in, err := parse(raw)
	if f.defined = err == nil; err != nil {
		how := "; run goblin-actor call with --json in a shell"
		if f.verb == form.Prompt {
			how = "; run goblin-actor prompt in a shell" // it has no --json
		}
		f.note = err.Error() + how
	}
	f.begin(in)
	f.note = cmp.Or(f.note, f.fill(f.known))
}

// current returns what the form would send, or an error that says why the form cannot be sent.
func (f *itemForm) current() (form.Use, error) {
	u := form.Use{Verb: f.verb, Name: f.item.Public, Schema: f.inputs.Schema}
	if err := f.fault(); err != nil {
		return u, err
	}
	switch {
	case f.template && f.inputs.Omitted > 0:
		return u, errors.New("the template has more variables than a form can hold")
	case f.template:
		u.Name = f.inputs.Expand(f.item.Public, f.texts)
		return u, nil
	case f.verb == form.Read:
		return u, nil
	}
	raw, err := f.inputs.Arguments(f.item.Public, f.texts)
	u.Arguments = raw
	return u, err
}

// submit sends the form, or notes why it cannot. Before it calls a tool that may change something, it asks.
func (a *App) submit(f *itemForm) {
	u, err := f.current()
	switch {
	case !f.defined:
		f.note = cmp.Or(f.note, "not sent: the definition is unknown")
	case f.runs():
		f.note = "the previous call has not ended; press ctrl-d to cancel it"
	case err != nil:
		f.note = "not sent: " + err.Error()
	case f.verb == form.Call && !f.item.ReadOnly:
		f.asking, f.askTop = askingFor(u), 0
	default:
		a.send(f)
	}
}

// askingFor returns the question before a call. Short arguments are part of the question; others are the lines after it.
func askingFor(u form.Use) []string {
	question := plain(u.Name) + " may change something; "
	switch args := string(u.Arguments); {
	case len(args) <= maxPlain && simple(args):
		return []string{question + "call it with " + plain(args) + "? y/n"}
	default:
		return append([]string{question + "call it with these arguments? y/n"}, lines(shortened(indented(args)))...)
	}
}
