package config

import (
	"errors"
	"fmt"
	"strings"
)

// Finding is one thing to say about a place of the file. It is an error, so that a list of them can be joined.
type Finding struct {
	File    string // as it was named to Parse or Load; "" when no file is concerned
	Line    int    // from 1; 0 = the file as a whole
	Column  int    // from 1, in characters
	Path    string // keys from the root, as `mcpServers.files.args[1]`; "" = the root
	Message string // what is wrong, lower case, never with the value of a variable
	Hint    string // what to type instead; "" = nothing to suggest

	Suspect bool // of a warning: the server at Path fails because of it, if it fails

	cause error // of a file that cannot be read
}

// Error is `file:line:column: path: message`, without the hint; parts that are not known are left out.
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

// Unwrap is the error of the file system, where that was the reason.
func (f *Finding) Unwrap() error { return f.cause }

// Report is all there is to say about a file, in the order of the file.
type Report struct {
	Faults   []*Finding // any of them makes the config invalid: there is no Config then
	Warnings []*Finding // the config is in force all the same

	origins map[string]origin // by path; what Show needs
}

// Err joins the faults; nil when there are none. errors.AsType finds the single *Finding.
func (r Report) Err() error {
	errs := make([]error, len(r.Faults))
	for i, f := range r.Faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// KeyOf returns the key at path inside of the entry of server, as `env.API_KEY`. ok is false for a path elsewhere.
func KeyOf(path string, server Server) (key string, ok bool) {
	return strings.CutPrefix(path, join("mcpServers", server.Written)+".")
}

// origin is where an effective value came from.
type origin struct {
	file         string
	line, column int
	written      string      // the scalar as the file has it, before `${…}`; "" for lists and mappings
	refs         []reference // the variables it names
}

// reference is one `${…}` of a scalar.
type reference struct {
	name string
	set  bool // in the environment
}

// Where says where an effective value was written: file and line. ok = false: the file does not write it.
func (r Report) Where(path string) (file string, line int, ok bool) {
	o, ok := r.origins[path]
	return o.file, o.line, ok && o.line > 0
}
