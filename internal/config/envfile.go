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

// maxEnvFileBytes is the size of a file of variables at most.
const maxEnvFileBytes = 1 << 20

// EnvLine is one variable of a file of variables.
type EnvLine struct {
	Name, Value string
	Line        int // from 1
}

// ParseEnvFile reads lines of NAME=value, as docker compose and most others write them: `export` before a name, comments with
// # and quotes are understood; between single quotes everything is text, between double quotes \n, \t, \", \\ and \$ stand for a character;
// nothing is replaced in values. bad are the lines that are none of that; no value is ever told.
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
			at := strings.IndexByte(text, '=') // a text in quotes may go over several lines
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

// unquoted is what a text in quotes stands for.
func unquoted(s string) string {
	inner := s[1 : len(s)-1]
	if s[0] == '\'' || !strings.Contains(inner, `\`) {
		return inner
	}
	return strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$").Replace(inner)
}

// RenderEnvLine writes a variable so that ParseEnvFile, and docker compose, read it again.
func RenderEnvLine(name, value string) string {
	if !strings.ContainsAny(value, "'\n\r") {
		return name + "='" + value + "'\n"
	}
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "$", `\$`).Replace(value) + "\"\n"
}

// envReader reads a file of variables. shared says that others than its owner may read it.
type envReader func(path string) (text string, shared bool, err error)

// readEnvFile is the envReader of all but tests.
func readEnvFile(path string) (text string, shared bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular():
		return "", false, errors.New("it is no regular file")
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

// beside is a path of the configuration as one that can be opened: ~ is the home directory, a relative one is beside the file.
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

// readVariables reads the file named at n. It warns of what is wrong with it; err is why there is nothing.
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
		d.warn(n.line, n.column, path, "others can read "+shown(file), "chmod 600 it, if it holds secrets")
	}
	if len(bad) > 0 {
		d.warn(n.line, n.column, path, fmt.Sprintf("%s:%d: not NAME=value; the line is left out", shown(file), bad[0]), "")
	}
	return vars, file, nil
}

// rootVariables makes the variables of the root's envFile known, behind those of the process: what is set where the gateway
// starts counts first. Of several files the last counts most.
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
			continue // told where the key is read
		}
		vars, _, err := d.readVariables(e.text, item, "envFile")
		if err != nil {
			d.warn(item.line, item.column, "envFile", err.Error(), "servers that need a variable of it are misconfigured until it is there")
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

// serverVariables adds the variables of a server's envFile to its env, which counts first.
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
			d.misfortune(o, path, err.Error(), "mend the path, or remove envFile")
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

// Environment answers the variables of the configuration text, which stands at path: those of this process, then those of
// its envFile.
func Environment(path, text string) func(name string) (string, bool) {
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.rootVariables(treeOf(text))
	return d.env
}

// Expand is s with the variables that env knows replaced; nothing else is looked up.
func Expand(s string, env func(string) (string, bool)) string {
	return expand(s, sources{env: env}).text
}

// EnvFiles are the files that the root of the configuration text, which stands at path, names as envFile.
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

// SetEnvFile returns text with envFile at its root.
func SetEnvFile(name, text, file string) (string, error) {
	path, value := []string{"envFile"}, textNode(file)
	return edit(name, text, func(d *editor) error { return d.set(path, value) },
		func(root *node) *node { return root.with(path, value) })
}
