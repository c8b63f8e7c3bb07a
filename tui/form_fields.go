package tui

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"goblin-actor/internal/form"
)

// maxFormText limits the text of a field, in bytes.
const maxFormText = 64 << 10

// fieldset is the rows of a form. One of them is edited.
type fieldset struct {
	inputs form.Inputs
	texts  []string
	at     int // index of the field that is edited
	input  *tview.InputField
}

// begin shows empty fields.
func (f *fieldset) begin(in form.Inputs) {
	f.inputs, f.texts = in, make([]string, len(in.All))
	f.input = tview.NewInputField().SetAcceptanceFunc(func(text string, _ rune) bool { return len(text) <= maxFormText })
	f.input.SetChangedFunc(func(text string) {
		if f.at < len(f.texts) {
			f.texts[f.at] = text
		}
	})
	f.input.Focus(func(tview.Primitive) {})
	f.edit(0)
}

// edit moves to the field with index at. Before the first field is the last one, and after the last the first.
func (f *fieldset) edit(at int) {
	if n := len(f.texts); n > 0 {
		f.at = (at + n) % n
		f.input.SetText(f.texts[f.at])
	}
}

// fault returns why the fields cannot be sent, or nil.
func (f *fieldset) fault() error {
	for i := range f.texts {
		if err := f.inputs.Fault(i, f.texts[i]); err != nil {
			return fmt.Errorf("%s: %w", f.inputs.All[i].Name, err)
		}
	}
	return nil
}

// omitted returns a line about arguments that have no row, or "".
func (f *fieldset) omitted() string {
	if f.inputs.Omitted == 0 {
		return ""
	}
	return plural(f.inputs.Omitted, "more argument") + " cannot be set here; use goblin-actor in a shell"
}

// key handles a key that moves among the fields or edits one.
func (f *fieldset) key(e *tcell.EventKey) {
	switch {
	case len(f.texts) == 0:
	case keys(tcell.KeyTab, tcell.KeyDown)(e):
		f.edit(f.at + 1)
	case keys(tcell.KeyBacktab, tcell.KeyUp)(e):
		f.edit(f.at - 1)
	case keys(tcell.KeyEnter)(e):
		f.enter()
	default:
		f.input.InputHandler()(e, func(tview.Primitive) {})
	}
}

// paste adds text to the field that is edited, and returns why that is not possible, or "". The text is sent as it is; only
// line ends and tabs become spaces, since the field has one line.
func (f *fieldset) paste(text string) string {
	switch {
	case f.at >= len(f.texts):
	case len(f.texts[f.at])+len(text) > maxFormText:
		return fmt.Sprintf("not pasted: a field holds at most %d KiB", maxFormText>>10)
	default:
		f.input.SetText(f.texts[f.at] + inOneLine(text))
	}
	return ""
}

// inOneLine replaces line ends and tabs by spaces.
func inOneLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text)
}

// enter begins the JSON of an object or array, or goes to the next field.
func (f *fieldset) enter() {
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

// about returns the text beside a field: its fault, otherwise what it accepts.
func (f *fieldset) about(i int) (string, Health) {
	one := &f.inputs.All[i]
	if f.texts[i] != "" {
		if err := f.inputs.Fault(i, f.texts[i]); err != nil {
			return "✗ " + plain(err.Error()), Bad
		}
	}
	text := one.Kind
	if one.Default != "" {
		text += ", default " + one.Default
	}
	if one.JSON && f.texts[i] == "" {
		text += "; enter: JSON, ctrl-e: $EDITOR"
	}
	if one.Description != "" {
		if text != "" {
			text += "; "
		}
		text += one.Description
	}
	return plain(text), Quiet
}
