package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// modeForm is the mode in which a form is filled in.
const modeForm mode = "form"

// maxFormText limits the text of a field, in bytes.
const maxFormText = 64 << 10

// itemForm is the form for a call, a prompt or a read.
type itemForm struct {
	formItem
	inputs  form.Inputs
	texts   []string
	at      int // index of the field that is edited
	top     int // first visible line of the answer
	input   *tview.InputField
	defined bool   // the fields are those of the item's definition
	note    string // why the form is incomplete or unavailable
	asking  string // the question before the call is sent; "" = none
	use     *running
}

// running is a use that was sent.
type running struct {
	began    time.Time
	ended    time.Time // zero = not yet
	cancel   context.CancelFunc
	progress *status.UseProgress // nil = none yet
	answer   status.UseResult
	err      error
}

// noForm returns why r does nothing, or "" if it opens a form.
func noForm(a *App) string {
	if why := needsRow(a); why != "" {
		return why
	}
	if a.readOnly {
		return "this console is read-only"
	}
	if _, ok := a.formItem(); !ok {
		return "only tools, prompts, resources and templates can be run"
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
	if r == nil {
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

// openForm opens the form of the selected item. A resource has no arguments and is read at once.
func (a *App) openForm(*tcell.EventKey) {
	if i, ok := a.formItem(); ok {
		a.openFormOf(i)
	}
}

func (a *App) openFormOf(i formItem) {
	a.form = &itemForm{formItem: i}
	a.mode = modeForm
	switch {
	case i.template:
		a.form.defined = true
		a.form.begin(a, form.TemplateInputs(i.item.Public))
	case i.verb == form.Read:
		a.form.defined = true
		a.form.begin(a, form.Inputs{})
		a.send(a.form)
	case json.Valid([]byte(i.item.Raw)):
		a.form.define(a, []byte(i.item.Raw))
	default:
		a.form.begin(a, form.Inputs{})
		a.form.note = "waiting for the definition"
		a.fetchDefinition(a.form)
	}
}

// fetchDefinition fetches a definition that the catalog shows truncated.
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
			f.define(a, raw)
		})
	}()
}

// define creates the fields from the item's definition.
func (f *itemForm) define(a *App, raw []byte) {
	parse := form.ToolInputs
	if f.verb == form.Prompt {
		parse = form.PromptInputs
	}
	in, err := parse(raw)
	if f.defined = err == nil; err != nil {
		f.note = err.Error() + "; use a shell and --json"
	}
	f.begin(a, in)
}

// begin shows empty fields.
func (f *itemForm) begin(a *App, in form.Inputs) {
	f.inputs, f.texts = in, make([]string, len(in.All))
	f.input = tview.NewInputField().SetFieldStyle(a.palette.Health[Plain].Underline(true)).
		SetAcceptanceFunc(func(text string, _ rune) bool { return len(text) <= maxFormText })
	f.input.SetChangedFunc(func(text string) {
		if f.at < len(f.texts) {
			f.texts[f.at] = text
		}
	})
	f.input.Focus(func(tview.Primitive) {})
	f.edit(0)
}

// edit moves to another field.
func (f *itemForm) edit(at int) {
	if n := len(f.texts); n > 0 {
		f.at = (at + n) % n
		f.input.SetText(f.texts[f.at])
	}
}

// current returns what the form would send, and why that is not possible.
func (f *itemForm) current() (form.Use, error) {
	u := form.Use{Verb: f.verb, Name: f.item.Public, Schema: f.inputs.Schema}
	for i := range f.texts {
		if err := f.inputs.Fault(i, f.texts[i]); err != nil {
			return u, fmt.Errorf("%s: %w", f.inputs.All[i].Name, err)
		}
	}
	switch {
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

// formKey handles a key in a form.
func (a *App) formKey(e *tcell.EventKey) {
	f := a.form
	switch {
	case f.asking != "":
		f.asking = ""
		if char('y')(e) || char('Y')(e) {
			a.send(f)
		} else {
			f.note = "canceled"
		}
	case e.Key() == tcell.KeyEscape:
		f.stop()
		a.form, a.mode = nil, modeBrowse
	case ctrl('r')(e):
		a.submit(f)
	case ctrl('d')(e):
		f.stop()
	case keys(tcell.KeyTab, tcell.KeyDown)(e):
		f.edit(f.at + 1)
	case keys(tcell.KeyEnter)(e):
		f.enter()
	case keys(tcell.KeyBacktab, tcell.KeyUp)(e):
		f.edit(f.at - 1)
	case keys(tcell.KeyPgDn, tcell.KeyPgUp)(e):
		f.top = max(0, f.top+10*direction(e))
	case len(f.texts) > 0:
		f.note = ""
		f.input.InputHandler()(e, func(tview.Primitive) {})
	}
}

// paste adds text to the field that is edited. The text is sent as it is; only line ends and tabs become spaces, since the field has one
// line.
func (f *itemForm) paste(text string) {
	switch {
	case f.asking != "" || f.at >= len(f.texts):
	case len(f.texts[f.at])+len(text) > maxFormText:
		f.note = fmt.Sprintf("not pasted: a field holds at most %d KiB", maxFormText>>10)
	default:
		f.note = ""
		f.input.SetText(f.texts[f.at] + strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
	}
}

// enter begins the JSON of an object or array, or goes to the next field.
func (f *itemForm) enter() {
	if f.at < len(f.texts) && f.inputs.All[f.at].JSON && f.texts[f.at] == "" {
		text := "{}"
		if f.inputs.All[f.at].Kind == "array" {
			text = "[]"
		}
		f.input.SetText(text)
		return
	}
	f.edit(f.at + 1)
}

// submit sends the form. Before it calls a tool that may change something, it asks.
func (a *App) submit(f *itemForm) {
	u, err := f.current()
	switch {
	case !f.defined:
		f.note = cmp.Or(f.note, "not sent: the definition is unknown")
	case f.use != nil && f.use.ended.IsZero():
		f.note = "the previous call has not ended; press ctrl-d to cancel it"
	case err != nil:
		f.note = "not sent: " + err.Error()
	case f.verb == form.Call && !f.item.ReadOnly:
		f.asking = fmt.Sprintf("%s may change something; call it with %s? y/n", plain(u.Name), plain(string(u.Arguments)))
	default:
		a.send(f)
	}
}
