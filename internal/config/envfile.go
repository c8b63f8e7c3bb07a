package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxEnvFileBytes is the maximum size of a file of variables.
const maxEnvFileBytes = 1 << 20

// EnvLine is one variable in a file of variables.
type EnvLine struct {
	Name, Value string
	Line        int // from 1
}

// ParseEnvFile parses lines of NAME=value like Docker Compose: it accepts `export` before a name, comments with #, and quotes. Single quotes
// enclose literal text. Inside double quotes, \n, \r, \t, \", \\ and \$ are escapes. Values are not expanded. bad holds the numbers of invalid
// lines.
func ParseEnvFile(text string) (vars []EnvLine, bad []int) {
	text = strings.TrimPrefix(lineFeeds(text), "\ufeff")
	number := 0
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		number++
		word := strings.TrimSpace(line)
		if word == "" || word[0] == '#' {
			text = rest
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(word, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimLeft(value, " \t")
		begun := number
		ok := found && isVariable(name)
		if ok && value != "" && (value[0] == '"' || value[0] == '\'') {
			at := strings.IndexByte(text, '=') // a quoted value may span lines
			from := at + 1 + strings.IndexByte(text[at+1:], value[0])
			end := quoteEnd(text, from)
			if ok = end < len(text); ok {
				number += strings.Count(text[:end], "\n")
				value = unquoted(text[from : end+1])
				_, rest, _ = strings.Cut(text[end:], "\n")
			}
		} else if at := strings.Index(value, " #"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		if ok {
			vars = append(vars, EnvLine{name, value, begun})
		} else {
			bad = append(bad, begun)
		}
		text = rest
	}
	return vars, bad
}

// unquoted removes the quotes from s and replaces its escapes.
func unquoted(s string) string {
	inner := s[1 : len(s)-1]
	if s[0] == '\'' || !strings.Contains(inner, `\`) {
		return inner
	}
	return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$").Replace(inner)
}

// RenderEnvLine formats a variable for ParseEnvFile and Docker Compose.
func RenderEnvLine(name, value string) string {
	if !strings.ContainsAny(value, "'\n\r") {
		return name + "='" + value + "'\n"
	}
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "$", `\$`).Replace(value) + "\"\n"
}

// envReader reads a file of variables. shared reports that other users can read it.
type envReader func(path string) (text string, shared bool, err error)

// readEnvFile is the envReader outside tests.
func readEnvFile(path string) (text string, shared bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular():
		return "", false, errors.New("not a regular file")
	}
	data, err := readUpTo(path, maxEnvFileBytes)
	if err == nil && !utf8.Valid(data) {
		err = errors.New("not UTF-8")
	}
	return string(data), othersMayRead(info), err
}

func othersMayRead(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o044 != 0
}

// beside resolves a path of the configuration against the directory of the file. A leading ~ is the home directory.
func (d *decoder) beside(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, ok := d.env("HOME"); ok {
			return filepath.Join(home, rest)
		}
	}
	if d.base != "" && !filepath.IsAbs(path) {
		return filepath.Join(d.base, path)
	}
	return path
}

// readVariables reads a file of variables. written is its path as written in the configuration. It returns the variables
// and the resolved path. It warns about the first invalid line and about loose permissions, at the position of n.
func (d *decoder) readVariables(written string, n *node, path string) ([]EnvLine, string, error) {
	file := d.beside(written)
	if !slices.Contains(d.files, file) {
		d.files = append(d.files, file)
	}
	text, shared, err := d.read(file)
	if err != nil {
		message := reason(err)
		if errors.Is(err, fs.ErrNotExist) {
			message = "no such file"
		}
		return nil, file, errors.New(shown(file) + ": " + message)
	}
	vars, bad := ParseEnvFile(text)
	if shared {
		d.warn(n.line, n.column, path, "other users can read "+shown(file), "if it holds secrets, restrict it with chmod 600")
	}
	if len(bad) > 0 {
		d.warn(n.line, n.column, path, fmt.Sprintf("%s:%d: not NAME=value; the line is ignored", shown(file), bad[0]), "")
	}
	return vars, file, nil
}

// rootVariables adds the variables of the root's envFile to those of the process, which take precedence. Later files override earlier
// ones.
func (d *decoder) rootVariables(root *node) {
	n := root.member("envFile")
	if n == nil || d.read == nil {
		return
	}
	items := n.items
	if n.scalar() {
		items = []*node{n}
	}
	known := map[string]string{}
	for _, item := range items {
		e := expand(item.text, d.sources())
		if !item.scalar() || e.fault != "" || len(e.missing)+len(e.failed) > 0 {
			continue // reported when the key is decoded
		}
		vars, _, err := d.readVariables(e.text, item, "envFile")
		if err != nil {
			d.warn(item.line, item.column, "envFile", err.Error(), "create or fix the file, or correct its name; until then, servers that need its variables are misconfigured")
		}
		for _, v := range vars {
			known[v.Name] = v.Value
		}
	}
	process := d.env
	d.env = func(name string) (string, bool) {
		if value, ok := process(name); ok {
			return value, true
		}
		value, ok := known[name]
		return value, ok
	}
}

// serverVariables adds the variables of a server's envFile to its env, which takes precedence.
func (d *decoder) serverVariables(s *Server, at place) {
	if d.read == nil {
		return
	}
	own := s.Env
	for i, written := range s.EnvFiles {
		path := d.itemPath(at.path, i)
		o := d.report.origins[path]
		vars, file, err := d.readVariables(written, &node{line: o.line, column: o.column}, path)
		if err != nil {
			d.misconfigure(o, path, err.Error(), "create or fix the file, correct its name, or remove envFile")
			continue
		}
		merged := map[string]string{}
		for name, value := range s.Env {
			merged[name] = value
		}
		for _, v := range vars {
			if _, stated := own[v.Name]; stated || strings.Contains(v.Value, "\x00") {
				continue
			}
			merged[v.Name] = v.Value
			d.report.origins[join(strings.TrimSuffix(at.path, "envFile")+"env", v.Name)] = origin{file: file, line: v.Line}
		}
		s.Env = merged
	}
}

// Environment returns a lookup function for the variables of the configuration text at path: those of this process, then those of its
// envFile.
func Environment(path, text string) func(name string) (string, bool) {
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.rootVariables(treeOf(text))
	return d.env
}

// Expand returns s with the variables that env defines expanded. Other references are not resolved.
func Expand(s string, env func(string) (string, bool)) string {
	return expand(s, sources{env: env}).text
}

// EnvFiles returns the files that the root of the configuration text at path names as envFile.
func EnvFiles(path, text string) []string {
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	n := treeOf(text).member("envFile")
	if n == nil {
		return nil
	}
	var files []string
	for _, written := range append(n.words(), n.text) {
		if written != "" {
			files = append(files, d.beside(expand(written, d.sources()).text))
		}
	}
	return files
}

// SetEnvFile returns text with envFile set to file at its root.
func SetEnvFile(name, text, file string) (string, error) {
	path, value := []string{"envFile"}, textNode(file)
	return edit(name, text, func(d *editor) error { return d.set(path, value) },
		func(root *node) *node { return root.with(path, value) })
}
