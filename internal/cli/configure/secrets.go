package configure

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
)

// secretsFile is the file for imported secrets, next to a configuration that has no envFile.
const secretsFile = "secrets.env"

// envTarget is the file for a configuration's secrets, and the variables to add to it.
type envTarget struct {
	file    *config.File
	written string            // path of the file as written in the configuration
	named   bool              // set by put when it has added envFile to the configuration
	known   bool              // the configuration has an envFile
	has     map[string]string // variables of the file
	added   []config.Variable
	lookup  func(string) (string, bool) // looks up a variable as the resulting configuration will
}

// openVariables opens the file for a configuration's secrets: the first file that envFile names, otherwise secrets.env
// next to the configuration.
func openVariables(f *config.File) (envTarget, error) {
	t := envTarget{written: secretsFile, has: map[string]string{}}
	path := filepath.Join(filepath.Dir(f.Path), secretsFile)
	if files := config.EnvFiles(f.Path, f.Text); len(files) > 0 {
		t.known, path = true, files[0]
	}
	var err error
	if t.file, err = config.OpenFile(path, config.MaxFileBytes); err != nil {
		return t, configfile.FileError(err)
	}
	vars, _ := config.ParseEnvFile(t.file.Text)
	for _, v := range vars {
		t.has[v.Name] = v.Value
	}
	rest := config.Environment(f.Path, f.Text)
	t.lookup = func(name string) (string, bool) {
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		if value, ok := t.has[name]; ok {
			return value, true
		}
		return rest(name)
	}
	return t, nil
}

// taken returns the value that a variable name already has. The environment of this process takes precedence over the
// file, so a name that the environment sets to another value cannot be used.
func (t *envTarget) taken(name string) (string, bool) { return t.lookup(name) }

// put adds variables to the file's future content. It returns text, the configuration at path, changed if necessary so
// that envFile names the file.
func (t *envTarget) put(path, text string, vars []config.Variable) (string, error) {
	for _, v := range vars {
		if _, has := t.has[v.Name]; !has {
			t.has[v.Name] = v.Value
			t.added = append(t.added, v)
		}
	}
	if t.known {
		return text, nil
	}
	text, err := config.SetEnvFile(path, text, t.written)
	if err == nil {
		t.named, t.known = true, true
	}
	return text, err
}

// write adds the variables to the file. A new file is readable only by its owner. undo restores the old content.
func (t *envTarget) write(errOut io.Writer) (undo func() error, err error) {
	if len(t.added) == 0 {
		return func() error { return nil }, nil
	}
	text := t.file.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, v := range t.added {
		text += config.RenderEnvLine(v.Name, v.Value)
	}
	if _, err := t.file.Replace(text, false); err != nil {
		return nil, configfile.FileError(err)
	}
	p := terminal.PaletteFor(errOut)
	fmt.Fprintf(errOut, "wrote %s with %s\n", terminal.Clean(t.file.Path), terminal.Count(len(t.added), "secret"))
	if t.file.Shared() {
		fmt.Fprintf(errOut, "%s other users can read this file\n%s run chmod 600 %s\n", p.Warn("warning:"), p.Good("hint:"), terminal.Clean(t.file.Path))
	}
	if inRepository(t.file.Path) {
		fmt.Fprintf(errOut, "%s %s is in a git repository: add it to .gitignore\n", p.Good("hint:"), terminal.Clean(t.file.Path))
	}
	return func() error { return restore(t.file) }, nil
}

// inRepository reports whether path is in a git repository whose .gitignore does not name the file.
func inRepository(path string) bool {
	dir, err := filepath.Abs(filepath.Dir(path))
	for err == nil {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			ignore, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
			return !strings.Contains(string(ignore), filepath.Base(path))
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
	return false
}

// restore restores the content that a file had when it was opened, or removes the file if it is new.
func restore(f *config.File) error {
	if !f.Exists() {
		return os.Remove(f.Path)
	}
	now, err := config.OpenFile(f.Path, config.MaxFileBytes)
	if err == nil {
		_, err = now.Replace(f.Text, false)
	}
	return err
}
