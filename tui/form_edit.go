package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// editField opens the JSON of the field that is edited in the user's editor, while the console leaves the terminal.
func (a *App) editField(f *itemForm) {
	if a.edit == nil {
		f.note = "this console has no editor"
		return
	}
	var text string
	var err error
	if !a.suspend(func() { text, err = editText(indented(f.texts[f.at]), a.edit) }) {
		err = errors.New("the editor cannot get the terminal")
	}
	a.redraw()
	if err != nil {
		f.note = "not edited: " + err.Error()
		return
	}
	f.note = ""
	f.input.SetText(text)
}

// editText writes text to a temporary file that no other user may read, calls edit with its path, and returns the changed
// text. JSON is returned in one line; in other text, line breaks become spaces. The file is removed, with anything that the
// editor put beside it.
func editText(text string, edit func(path string) error) (string, error) {
	dir, err := os.MkdirTemp("", "goblin-actor-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "argument.json")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := edit(path); err != nil {
		return "", err
	}
	file, err := os.Open(path) // again, because editors replace the file
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	const most = 4 * maxFormText // including the spaces of indented JSON
	raw, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if len(raw) <= most && json.Compact(&b, raw) != nil {
		b.Reset()
		b.WriteString(inOneLine(strings.TrimSpace(string(raw))))
	}
	if len(raw) > most || b.Len() > maxFormText {
		return "", fmt.Errorf("the text is longer than %d KiB", maxFormText>>10)
	}
	return b.String(), nil
}
