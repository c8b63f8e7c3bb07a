package config

import (
	"errors"
	"fmt"
	"strings"
)

// Finding is an error or a warning about one position in the file.
type Finding struct {
	File    string // file name as given to Parse or Load; "" if there is no file
	Line    int    // from 1; 0 for the file as a whole
	Column  int    // from 1, in characters; 0 if Line is 0
	Path    string // keys from the root, such as `mcpServers.files.args[1]`; "" for the root
	Message string // what is wrong; never contains the value of a variable
	Hint    string // how to fix it; "" if there is no suggestion

	Suspect bool // for a warning: if the server at Path fails, this is the likely cause

	cause error // file system error, if the file cannot be read
}

// Error returns `file:line:column: path: message`, without unknown parts and without the hint.
func (f *Finding) Error() string {
	s := f.File
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d:%d", s, f.Line, f.Column)
	}
	for _, part := range []string{f.Path, f.Message} {
		switch {
		case part == "":
		case s == "":
			s = part
		default:
			s += ": " + part
		}
	}
	return s
}

// Unwrap returns the file system error that caused the finding, or nil.
func (f *Finding) Unwrap() error { return f.cause }

// Report holds the findings about a file, in file order.
type Report struct {
	Faults   []*Finding // errors; with any of them the file is invalid, and Load and Parse return no Config
	Warnings []*Finding // warnings, which do not make the file invalid

	origins map[string]origin // by path, for Show
}

// Err joins the errors. It returns nil if there are none. errors.AsType finds a *Finding.
func (r Report) Err() error {
	errs := make([]error, len(r.Faults))
	for i, f := range r.Faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// KeyOf returns the part of path inside the server's entry, such as `env.API_KEY`. ok is false if path is outside
// that entry.
func KeyOf(path string, server Server) (key string, ok bool) {
	return strings.CutPrefix(path, join("mcpServers", server.Written)+".")
}

// origin is the source of an effective value.
type origin struct {
	file         string
	line, column int
	written      string      // the scalar as written, with references; "" for lists and mappings
	refs         []reference // the references in it
}

// reference is one `${…}` in a scalar.
type reference struct {
	name string
	set  bool // it could be resolved
}

// Where returns the file and line that set the value at path. ok is false for a default.
func (r Report) Where(path string) (file string, line int, ok bool) {
	o, ok := r.origins[path]
	return o.file, o.line, ok && o.line > 0
}
