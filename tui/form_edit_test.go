package tui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const nested = `{"name":"files_read_file","inputSchema":{"type":"object","properties":{"filter":{"type":"object"},"path":{"type":"string"}}}}`

// editing returns a console with the form of a tool, whose editor is edit.
func editing(t *testing.T, edit func(path string) error) *testConsole {
	t.Helper()
	s, _ := formConsole(t, nested, true)
	s.app.edit = edit
	s.app.suspend = func(do func()) bool { do(); return true }
	return s
}

// ctrl-e edits a field's JSON in a file that only the user can read, and that is gone afterwards.
func TestEditField(t *testing.T) {
	var file string
	s := editing(t, func(path string) error {
		file = path
		raw, err := os.ReadFile(path)
		if err != nil || string(raw) != "{\n  \"a\": 1\n}\n" {
			t.Errorf("the editor got %q, %v", raw, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err := os.WriteFile(path+".swp", nil, 0o600); err != nil {
			t.Error(err)
		}
		return os.WriteFile(path, []byte("{\n  \"a\": [1,\n 2],\n\"b\": \"x\\ny\" }\n"), 0o600)
	})
	s.app.form.input.SetText(`{"a":1}`)
	s.press("<ctrl-e>")
	s.has(`{"a":[1,2],"b":"x\ny"}`)
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Errorf("the folder of the file is left: %v", err)
	}
}

// A form has rows for at most 100 arguments, and says how many it leaves out.
func TestManyArguments(t *testing.T) {
	properties := make([]string, 103)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	s, _ := formConsole(t, `{"name":"files_read_file","inputSchema":{"type":"object","properties":{`+strings.Join(properties, ",")+`}}}`, true)
	s.has("3 more arguments cannot be set here; use goblin-actor in a shell")
}

// A field keeps its text if the editor fails or returns too much. Text that is not JSON is kept and shown with its
// fault.
func TestEditFieldFails(t *testing.T) {
	var write string
	var fails error
	s := editing(t, func(path string) error { return errors.Join(fails, os.WriteFile(path, []byte(write), 0o600)) })
	s.app.form.input.SetText(`{"a":1}`)
	fails = errors.New("vi: exit status 1")
	s.press("<ctrl-e>")
	s.has("not edited: vi: exit status 1")
	s.has(`{"a":1}`)
	fails, write = nil, strings.Repeat(" ", maxFormText)+strings.Repeat("1", 4*maxFormText)
	s.press("<ctrl-e>")
	s.has("not edited: the text is longer than 64 KiB")
	s.has(`{"a":1}`)
	write = "{\"a\":\n 1\x1b[2J"
	s.press("<ctrl-e>")
	s.has("✗ ")
	harmless(t, s, "a text from the editor")
	s.app.suspend = func(func()) bool { return false }
	s.press("<ctrl-e>")
	s.has("not edited: the editor cannot get the terminal")
	s.press("<tab>x<home><ctrl-e>y")
	if s.app.form.texts[1] != "xy" {
		t.Errorf("after ctrl-e in a text field: %q", s.app.form.texts[1])
	}
	s.app.edit = nil
	s.press("<tab><ctrl-e>")
	s.has("this console has no editor")
}
