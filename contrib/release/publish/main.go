// Publish copies the module under another module path: go run ./contrib/release/publish MODULE DIR.
//
// The module path goblin-actor works only inside this repository. To be imported, a module needs the path that it is
// fetched from, such as github.com/you/goblin-actor. Publish copies all files that git tracks to DIR, which must be empty or must not
// exist. In the copy, it replaces the path in go.mod files, imports, linker flags and docs. Names that merely look like the path stay:
// users' directories, members of _meta and names of npm packages.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/module"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "error: publish requires a module path, such as github.com/you/goblin-actor, and a directory to write to")
		os.Exit(2)
	}
	if err := publish(".", os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// publish copies the module in root to dir under another path.
func publish(root, path, dir string) error {
	if err := module.CheckPath(path); err != nil {
		return fmt.Errorf("%w; write a path such as github.com/you/goblin-actor", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty; remove it, or choose another directory", dir)
	}
	files, err := git(root, "ls-files", "-z")
	if err != nil {
		return err
	}
	names := strings.Split(strings.TrimSuffix(files, "\x00"), "\x00")
	rewrite, err := newRewriter(root, path, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name), rewrite.file(name)); err != nil {
			return err
		}
	}
	return nil
}

// rewriter replaces the module's path in the text of files.
type rewriter struct {
	old, new string
	packages *regexp.Regexp // the old path with a folder of the module
}

// newRewriter returns a rewriter for the module in root, whose files have the given names.
func newRewriter(root, path string, names []string) (*rewriter, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	old, ok := strings.CutPrefix(first, "module ")
	if !ok {
		return nil, fmt.Errorf("go.mod starts with %q; it must start with the module's path", first)
	}
	folders, seen := []string{}, map[string]bool{}
	for _, name := range names {
		folder, _, ok := strings.Cut(name, "/")
		if ok && !seen[folder] && !strings.HasPrefix(folder, ".") {
			seen[folder] = true
			folders = append(folders, regexp.QuoteMeta(folder))
		}
	}
	// A word character, "/", "@", "." or "-" before the path makes it a part of something else.
	pattern := `(^|[^\w/@.-])` + regexp.QuoteMeta(old) + `/(` + strings.Join(folders, "|") + `)\b`
	return &rewriter{old, path, regexp.MustCompile(`(?m)` + pattern)}, nil
}

// file returns the function that rewrites the file with this name.
func (r *rewriter) file(name string) func([]byte) []byte {
	isMod := filepath.Base(name) == "go.mod" || filepath.Ext(name) == ".mod"
	return func(text []byte) []byte {
		if !utf8.Valid(text) {
			return text
		}
		if isMod {
			text = bytes.Replace(text, []byte("module "+r.old+"\n"), []byte("module "+r.new+"\n"), 1)
		}
		return r.packages.ReplaceAll(text, []byte("${1}"+r.new+"/${2}"))
	}
}

// copyFile copies a file or a symbolic link.
func copyFile(from, to string, rewrite func([]byte) []byte) error {
	info, err := os.Lstat(from)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is tracked by git but missing; commit its removal, or restore it", from)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, rewrite(text), info.Mode().Perm())
}

func git(dir string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
