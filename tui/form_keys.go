package tui

import (
	"github.com/gdamore/tcell/v2"
)

// The last line of a form: before the call, while it runs, and while the console asks whether to make it.
const (
	formHint = "ctrl-r run  tab next  ctrl-y copy  pgdn answer  esc leave"
	formRuns = "ctrl-d cancel  ctrl-y copy  esc cancel and leave"
	formAsks = "y call the tool  pgdn pgup scroll  any other key: do not call it"
)

// hint returns the last line of the form.
func (f *itemForm) hint() string {
	switch q := f.question(); {
	case f.copying:
		return formCopies
	case f.asking != nil:
		return formAsks
	case q != nil && q.wrong != nil:
		return wrongHint
	case q != nil && q.page != nil:
		return pageHint
	case q != nil:
		return questionHint
	case f.runs():
		return formRuns
	}
	return formHint
}

// formKey handles a key in a form.
func (a *App) formKey(e *tcell.EventKey) {
	f := a.form
	switch q := f.question(); {
	case f.copying:
		a.formCopyKey(f, e)
	case f.asking != nil:
		a.askingKey(f, e)
	case q != nil:
		a.questionKey(f, q, e)
	case e.Key() == tcell.KeyEscape:
		f.stop()
		a.form, a.mode = nil, modeBrowse
	case ctrl('r')(e):
		a.submit(f)
	case ctrl('d')(e) && !f.runs():
		f.note = "no call is running"
	case ctrl('d')(e):
		f.stop()
	case ctrl('y')(e):
		f.copying = true
	case ctrl('e')(e) && f.at < len(f.texts) && f.inputs.All[f.at].JSON: // in other fields, ctrl-e goes to the end of the text
		a.editField(f)
	case keys(tcell.KeyPgDn, tcell.KeyPgUp)(e):
		f.top = max(0, f.top+10*direction(e))
	case len(f.texts) > 0:
		f.note = ""
		f.key(e)
	}
}

// askingKey handles a key while the console asks whether to call a tool.
func (a *App) askingKey(f *itemForm, e *tcell.EventKey) {
	switch {
	case keys(tcell.KeyDown, tcell.KeyUp)(e):
		f.askTop = max(0, f.askTop+direction(e))
	case keys(tcell.KeyPgDn, tcell.KeyPgUp)(e):
		f.askTop = max(0, f.askTop+10*direction(e))
	case char('y')(e), char('Y')(e):
		f.asking = nil
		a.send(f)
	default:
		f.asking, f.note = nil, "canceled"
	}
}

// pasteIntoForm adds text to the field that is edited.
func (a *App) pasteIntoForm(text string) {
	f := a.form
	switch q := f.question(); {
	case f.asking != nil:
	case q != nil:
		f.note = q.paste(text)
	default:
		f.note = f.paste(text)
	}
}
