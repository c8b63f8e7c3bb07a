package tui

import (
	"cmp"
	"slices"
	"strings"

	"goblin-actor/internal/form"
	"goblin-actor/internal/status"
)

// hiddenSecret is the text that replaces a secret in kept payloads.
const hiddenSecret = "[redacted]"

// again returns the item of the finished call that is selected or whose page is shown. arguments are those of the call if its
// page is shown and has them, otherwise nil. ok is false if there is no such call, if its method has no form, or if its tool or
// prompt is no longer listed.
func (a *App) again() (i formItem, arguments []byte, ok bool) {
	v := a.view()
	key := v.call
	if v.kind != callKind {
		row := v.table.row()
		if part := v.part(); row == nil || part != callsKind && part != failuresKind {
			return i, nil, false
		}
		key = row.ID
	}
	running, finished := findCall(a.picture, key)
	if running != nil || finished == nil {
		return i, nil, false
	}
	name := cmp.Or(finished.Public, finished.Item)
	i.verb = form.VerbOf(finished.Method)
	switch i.verb {
	case form.Call:
		i.item, ok = itemNamed(a.picture.Items.Tools, name)
	case form.Prompt:
		i.item, ok = itemNamed(a.picture.Items.Prompts, name)
	case form.Read: // a resource may exist without being listed
		i.item, ok = status.Item{Public: name}, true
	}
	if !ok {
		return i, nil, false
	}
	u := form.Use{Name: name}
	if v.kind == callKind {
		addKept(&u, a.picture, v.scope)
	}
	return i, u.Arguments, true
}

func itemNamed(items []status.Item, public string) (status.Item, bool) {
	for _, item := range items {
		if item.Public == public {
			return item, true
		}
	}
	return status.Item{}, false
}

// fill sets the fields to the arguments of an earlier call. It returns a note about the arguments that it leaves out, which are
// those with a hidden secret and those that a field cannot hold, or "" if it leaves out none.
func (f *fieldset) fill(arguments []byte) (note string) {
	if arguments == nil {
		return ""
	}
	texts, missing := f.inputs.Texts(arguments)
	for i, text := range texts {
		if len(text) > maxFormText || strings.Contains(text, hiddenSecret) || strings.ContainsAny(text, "\r\n\t") {
			missing = append(missing, f.inputs.All[i].Name)
			continue
		}
		f.texts[i] = text
	}
	f.edit(0)
	if len(missing) == 0 {
		return ""
	}
	slices.Sort(missing)
	return "not filled in: " + strings.Join(missing, ", ")
}
