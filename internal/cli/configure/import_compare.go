package configure

import (
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
)

// chooseName sets the name of e to one that is not reserved and that no other server has. If the configuration or this
// import already contains the server, chooseName returns the name under which it does, otherwise "". source is e as the
// client's file defines it.
func (in *importer) chooseName(e *config.Entry, source config.Entry) (same string) {
	taken := config.Entries(in.text)
	for _, other := range slices.Concat(taken, in.sources) {
		if in.sameServer(other, source) {
			return other.Name
		}
	}
	name := e.Name
	for n := 2; ; n++ {
		at := slices.IndexFunc(taken, func(other config.Entry) bool { return other.Name == e.Name })
		if at >= 0 && (alike(taken[at], *e) || alike(in.expanded(taken[at]), in.expanded(source))) {
			return e.Name
		}
		if at < 0 && e.Name != "goblin" {
			return ""
		}
		e.Name = fmt.Sprintf("%s-%d", name, n)
	}
}

// expanded returns the entry with the variables of the configuration replaced by their values.
func (in *importer) expanded(e config.Entry) config.Entry {
	expand := func(s string) string {
		return config.Expand(s, func(name string) (string, bool) {
			if value, ok := in.vars.lookup(name); ok {
				return value, true
			}
			return "${" + name + "}", true // a reference to an unset variable stays as it is
		})
	}
	list := func(vars []config.Variable) []config.Variable {
		vars = slices.Clone(vars)
		for i := range vars {
			vars[i].Value = expand(vars[i].Value)
		}
		return vars
	}
	e.Command, e.URL, e.Cwd, e.Args = expand(e.Command), expand(e.URL), expand(e.Cwd), slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = expand(e.Args[i])
	}
	e.Env, e.Headers = list(e.Env), list(e.Headers)
	return e
}

// sameServer reports whether two entries are the same server, whatever their names. It ignores differences in spelling:
// the full path of a program on PATH, npx with or without -y, @latest after a package, a slash at the end of a URL. The
// entries must also agree on whether they are disabled, and on their tool filters.
func (in *importer) sameServer(a, b config.Entry) bool {
	a, b = normalize(in.expanded(a)), normalize(in.expanded(b))
	return alike(a, b) && a.Disabled == b.Disabled && slices.Equal(a.ToolsDisabled, b.ToolsDisabled) &&
		slices.Equal(a.ToolsAllow, b.ToolsAllow) && slices.Equal(a.ToolsDeny, b.ToolsDeny)
}

// normalize returns the entry without differences in spelling.
func normalize(e config.Entry) config.Entry {
	e.URL = strings.TrimSuffix(e.URL, "/")
	if name := filepath.Base(e.Command); name != e.Command {
		if path, err := exec.LookPath(name); err == nil && path == e.Command {
			e.Command = name
		}
	}
	if e.Command == "npx" {
		e.Args = slices.DeleteFunc(slices.Clone(e.Args), func(arg string) bool { return arg == "-y" || arg == "--yes" })
		for i, arg := range e.Args {
			e.Args[i] = strings.TrimSuffix(arg, "@latest")
		}
	}
	return e
}

// alike reports whether two entries have the same command, URL, arguments, working directory, variables and headers.
func alike(a, b config.Entry) bool {
	asMap := func(list []config.Variable) map[string]string {
		m := map[string]string{}
		for _, v := range list {
			m[v.Name] = v.Value
		}
		return m
	}
	return a.Command == b.Command && a.URL == b.URL && slices.Equal(a.Args, b.Args) && a.Cwd == b.Cwd &&
		maps.Equal(asMap(a.Env), asMap(b.Env)) && maps.Equal(asMap(a.Headers), asMap(b.Headers))
}

// describeEntry describes a server without parts that may be secret: of a URL it shows only the scheme and host, of
// arguments and variables only the number.
func describeEntry(e config.Entry) string {
	if e.URL != "" {
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			return terminal.Clean(u.Scheme + "://" + u.Host + "/…")
		}
		return "a URL"
	}
	text := terminal.OneLine(filepath.Base(e.Command), 40)
	if len(e.Args) > 0 {
		text += " with " + terminal.Count(len(e.Args), "argument")
	}
	if len(e.Env) > 0 {
		text += ", " + terminal.Count(len(e.Env), "variable")
	}
	if e.Disabled {
		text += ", disabled"
	}
	return text
}
