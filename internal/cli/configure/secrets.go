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

// secretsFile is where import puts secrets, beside the configuration that names no file of variables yet.
const secretsFile = "secrets.env"

// envTarget is the file of variables of a configuration, and what shall go into it.
type envTarget struct {
	file    *config.File
	written string            // as the configuration names it
	named   bool              // the configuration has to be told of it
	known   bool              // it names it already
	has     map[string]string // what the file says
	added   []config.Variable
	lookup  func(string) (string, bool) // of the configuration as it will be
}

// openVariables finds the file of variables of a configuration: the first that its envFile names, else secrets.env beside it.
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

// taken answers what a variable is for others. What is set where the gateway starts counts first, so a name set there to
// something else is no use.
func (t *envTarget) taken(name string) (string, bool) { return t.lookup(name) }

// put notes variables for the file, and has text, the configuration at path, name it.
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

// write adds the variables to the file, which is for its owner alone when it is new. undo takes them out again.
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
	fmt.Fprintf(errOut, "wrote %s, with %s\n", terminal.Clean(t.file.Path), terminal.Count(len(t.added), "secret"))
	if t.file.Shared() {
		fmt.Fprintf(errOut, "%s others can read it\n%s chmod 600 %s\n", p.Warn("warning:"), p.Good("hint:"), terminal.Clean(t.file.Path))
	}
	if inRepository(t.file.Path) {
		fmt.Fprintf(errOut, "%s %s is in a git repository: keep it out with a line in .gitignore\n", p.Good("hint:"), terminal.Clean(t.file.Path))
	}
	return func() error { return takeBack(t.file) }, nil
}

// inRepository tells whether a directory above path is the root of a git repository that does not name the file in its .gitignore.
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

// takeBack makes a file what it was when it was opened.
func takeBack(f *config.File) error {
	if !f.Exists() {
		return os.Remove(f.Path)
	}
	now, err := config.OpenFile(f.Path, config.MaxFileBytes)
	if err == nil {
		_, err = now.Replace(f.Text, false)
	}
	return err
}
