package config

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"goblin-actor/protocol/namespace"
)

const (
	ownName       = "goblin" // the name of the gateway's own server, which has the meta tools
	maxNameLength = 64
)

// entries reads a mapping from names to entries. It reports invalid and duplicate names, and calls read with the slug
// of each other name and its member.
func (d *decoder) entries(n *node, at place, read func(name string, m member, here place)) {
	if !d.wantMapping(n, at) {
		return
	}
	first := map[string]member{}
	for _, m := range n.members {
		here := at.entry(m.key)
		name := namespace.Slug(m.key)
		taken, dup := first[name]
		if free, ok := d.freeName(name, first); dup && ok {
			name, dup = free, false
		}
		switch {
		case m.key == "":
			d.fault(m.line, m.column, here.path, "empty name", "")
			continue
		case len(name) > maxNameLength:
			d.fault(m.line, m.column, here.path, fmt.Sprintf("a name must not exceed %d characters", maxNameLength), "")
			continue
		case at.schema == "mcpServers" && (d.foreign || name == ownName) && d.isOurs(m.value):
			d.warn(m.line, m.column, here.path, "skipped: it refers to this gateway", "")
			continue
		case name == ownName && at.schema == "mcpServers":
			d.fault(m.line, m.column, here.path, `the name "goblin" is reserved`, "choose another name")
			continue
		case dup:
			d.fault(m.line, m.column, here.path, fmt.Sprintf("duplicate name: %q and %q both become %q", clip(taken.key), clip(m.key), name),
				fmt.Sprintf("the other is at %d:%d; rename one", taken.line, taken.column))
			continue
		}
		first[name] = m
		if name != m.key {
			d.warn(m.line, m.column, here.path, fmt.Sprintf("renamed to %q", name), "names consist of lower-case letters, digits and -")
		}
		read(name, m, here)
	}
}

// servers reads mcpServers.
func (d *decoder) servers(to *[]Server, n *node, at place) {
	d.entries(n, at, func(name string, m member, here place) {
		s := DefaultServer()
		s.Name, s.Written, s.Order = name, m.key, len(*to)
		d.server, d.entry, d.problems = true, here.path, nil
		o := origin{file: d.file, line: m.line, column: m.column}
		d.report.origins[here.path] = o
		d.fields(reflect.ValueOf(&s).Elem(), "", m.value, here)
		if m.value.kind == mapping || m.value.empty() {
			d.checkServer(&s, here)
		}
		s.Fault = strings.Join(d.problems, "; ")
		d.server = false
		*to = append(*to, s)
	})
}

// written reports whether the file has a value at path.
func (d *decoder) written(path string) bool {
	_, ok := d.report.origins[path]
	return ok
}

// checkServer checks combinations of keys and sets defaults that depend on the kind of server.
func (d *decoder) checkServer(s *Server, at place) {
	pathOf := func(key string) string { return at.key(key).path }
	command, one, several := d.written(pathOf("command")), d.written(pathOf("url")), d.written(pathOf("urls"))
	switch {
	case command && (one || several):
		d.complain(at.path, "both command and url", "a server is either a program or an address; remove one")
		return
	case one && several:
		d.complain(pathOf("urls"), "both url and urls", "remove one of them")
		return
	case !command && !one && !several:
		d.complain(at.path, "neither command nor url", "add command (the program to run) or url (the address of the server)")
		return
	case command:
		d.checkCommand(s, pathOf)
	default:
		d.checkURLs(s, pathOf, one)
	}
	d.checkNumbers(s, pathOf)
	d.checkNames(s, pathOf)
	d.checkPlaceholders(s, pathOf)
}

func (d *decoder) checkCommand(s *Server, at func(string) string) {
	if s.Command == "" {
		d.complain(at("command"), "empty; it must name the program to run", "")
	}
	switch s.Type {
	case "auto", "stdio":
		s.Type = "stdio"
	default:
		d.complain(at("type"), fmt.Sprintf("%s is for servers with a url; this server has a command", s.Type), "remove type")
	}
	d.home(&s.Command, at("command"))
	d.home(&s.Cwd, at("cwd"))
	if s.Base = d.base; s.Cwd != "" && !filepath.IsAbs(s.Cwd) && d.base != "" {
		s.Cwd = filepath.Join(d.base, s.Cwd)
	}
	d.serverVariables(s, place{path: at("envFile")})
	for _, key := range []string{"headers", "forwardHeaders", "auth"} {
		d.warnUnused(at(key), "a server with a command")
	}
	s.ForwardHeaders = nil
	for _, name := range sortedKeys(s.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			d.complain(join(at("env"), name), "not a variable name", "")
		}
	}
	d.checkPasted(s, at)
}

// ownHeaders are headers that the protocol sets on either side, or that route a request.
var ownHeaders = []string{"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
	"keep-alive", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade"}

func isOwnHeader(lower string) bool {
	return slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "mcp-") || strings.HasPrefix(lower, "goblin-")
}

// hasControls reports whether value contains characters that no header value may contain.
func hasControls(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// checkForwarded reports client headers that cannot be forwarded.
func (d *decoder) checkForwarded(s *Server, path string) {
	seen := map[string]bool{}
	for i, h := range s.ForwardHeaders {
		at := d.itemPath(path, i)
		member := func(key string) string { // the path of the key itself, so that an unresolved reference only makes this server misconfigured
			if path := join(at, key); d.written(path) {
				return path
			}
			return at
		}
		target := "to"
		if !d.written(join(at, target)) {
			target = "from"
		}
		from, to := strings.ToLower(h.From), strings.ToLower(h.To)
		switch {
		case h.From == "": // already reported
		case !isHeaderName(h.From):
			d.complain(member("from"), "not a header name", "")
		case !isHeaderName(h.To):
			d.complain(member("to"), "not a header name", "")
		case isOwnHeader(from):
			d.complain(member("from"), "this header is set by the protocol and cannot be forwarded", "")
		case isOwnHeader(to):
			d.complain(member("to"), "this header is set by the protocol and cannot be forwarded", "")
		case seen[to]:
			d.complain(member(target), "two headers are forwarded to the same name", "use a different name for each")
		case hasControls(h.Prefix):
			d.complain(member("prefix"), "the prefix contains control characters", "")
		}
		seen[to] = true
	}
}

// home expands a leading ~ or $HOME in a path, and records it like a reference.
func (d *decoder) home(value *string, path string) {
	rest, ok := strings.CutPrefix(*value, "~")
	if !ok {
		rest, ok = strings.CutPrefix(*value, "$HOME")
	}
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return
	}
	o := d.report.origins[path]
	o.refs = append(o.refs, reference{"HOME", true})
	d.report.origins[path] = o
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, ok := d.env(name); ok && home != "" {
			*value = filepath.Join(home, rest)
			return
		}
	}
	o.refs[len(o.refs)-1].set = false
	d.misconfigure(o, path, "variable HOME is not set, so "+(*value)[:len(*value)-len(rest)]+" cannot be expanded", "write the full path")
}

func (d *decoder) checkURLs(s *Server, at func(string) string, one bool) {
	key := at("urls")
	if one {
		key = at("url")
	}
	if len(s.URLs) == 0 {
		d.complain(key, "empty; write the address of the server", "")
	}
	for i, address := range s.URLs {
		if fault := urlFault(address); fault != "" {
			d.complain(d.itemPath(key, i), fault, "write http://host:port/path or https://…")
		}
	}
	if s.Type == "stdio" {
		d.complain(at("type"), "stdio is for servers with a command; this server has a url", "remove type")
	}
	if s.Replicas != 1 {
		d.complain(at("replicas"), "replicas counts processes, but this server has a url", "list the addresses: urls: [a, b]")
	}
	if !d.written(at("isolation")) {
		s.Isolation = "class"
	}
	for _, key := range []string{"args", "env", "envFile", "cwd", "inheritEnv"} {
		d.warnUnused(at(key), "a server with a url")
	}
	d.checkForwarded(s, at("forwardHeaders"))
	d.checkAuth(s, at)
	seen := map[string]bool{}
	for _, name := range sortedKeys(s.Headers) {
		path := join(at("headers"), name)
		switch {
		case !isHeaderName(name):
			d.complain(path, "not a header name", "")
		case seen[strings.ToLower(name)]:
			d.complain(path, "duplicate header; case does not matter", "")
		case hasControls(s.Headers[name]):
			d.complain(path, "a header must not contain line breaks or other control characters", "")
		}
		seen[strings.ToLower(name)] = true
	}
}

// itemPath returns the path of item i of the list at path, or path if the list is written as a single string.
func (d *decoder) itemPath(path string, i int) string {
	if item := (place{path: path}).item(i).path; d.written(item) {
		return item
	}
	return path
}

// warnUnused warns about a key without effect if the file has it.
func (d *decoder) warnUnused(path, on string) {
	if o, ok := d.report.origins[path]; ok {
		d.warn(o.line, o.column, path, "has no effect for "+on, "remove it")
	}
}

func (d *decoder) checkNumbers(s *Server, at func(string) string) {
	if s.Isolates() && !d.written(at("maxBackends")) {
		s.MaxBackends = defaultMaxBackendsIsolated
	}
	if s.Reconnect.Min > s.Reconnect.Max {
		d.complain(d.firstWritten(at("reconnect")+".min", at("reconnect")+".max"),
			fmt.Sprintf("min %v exceeds max %v", s.Reconnect.Min, s.Reconnect.Max), "")
	}
	if s.MaxTimeout > 0 && s.Timeout > s.MaxTimeout {
		path := d.firstWritten(at("timeout"), at("maxTimeout"))
		o := d.report.origins[path]
		d.warn(o.line, o.column, path, fmt.Sprintf("timeout %v is never reached, because maxTimeout is %v", s.Timeout, s.MaxTimeout), "raise maxTimeout as well")
	}
}

// firstWritten returns the first of paths at which the file has a value, or paths[0].
func (d *decoder) firstWritten(paths ...string) string {
	for _, path := range paths {
		if d.written(path) {
			return path
		}
	}
	return paths[0]
}

// NoPrefix is the Prefix of a server whose names get no prefix, which the file writes as `prefix: ""`.
const NoPrefix = "."

func (d *decoder) checkNames(s *Server, at func(string) string) {
	switch {
	case s.Prefix == "" && d.written(at("prefix")):
		s.Prefix = NoPrefix
	case !isNamePart(s.Prefix):
		d.complain(at("prefix"), "a prefix must consist of letters, digits, _ and -", "")
	}
	if s.Group != "" && s.Group != namespace.Slug(s.Group) {
		hint := "" // the value of a variable is never shown
		if len(d.report.origins[at("group")].refs) == 0 {
			hint = fmt.Sprintf("did you mean %s?", namespace.Slug(s.Group))
		}
		d.complain(at("group"), "a group name must consist of lower-case letters, digits and -", hint)
		s.Group = "" // the misconfigured server is shown under its own name
	}
	d.checkRunName(s, at("run"))
	if s.Prefix == cmp.Or(s.Group, s.Name) { // the default
		s.Prefix = ""
	}
	for i, root := range s.Roots {
		if u, err := url.Parse(root); err != nil || u.Scheme == "" {
			d.complain(d.itemPath(at("roots"), i), "not a URI", "write file:///path")
		}
	}
	for _, kind := range []struct {
		key    string
		filter Filter
	}{{"tools", s.Tools.Filter}, {"prompts", s.Prompts}, {"resources", s.ResourceFilter}} {
		path := at(kind.key) + ".rename"
		for _, name := range sortedKeys(kind.filter.Rename) {
			if kind.filter.Rename[name] == "" {
				d.complain(join(path, name), "the new name is empty", "to hide the item, add it to disabled")
			}
		}
	}
}

// urlFault returns why address is not valid, or "". It never quotes the address, which may contain a password.
func urlFault(address string) string {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return "empty; write the address of the server"
	case err != nil:
		return "not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "not an http or https URL"
	case u.Hostname() == "":
		return "a URL without a host"
	}
	return ""
}

// isHeaderName reports whether s is a token (RFC 9110, section 5.6.2).
func isHeaderName(s string) bool {
	ok := func(r rune) bool {
		return r < utf8.RuneSelf && (isWordByte(byte(r)) || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

// isNamePart reports whether s may be part of a public tool name.
func isNamePart(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || !isWordByte(byte(r)) && r != '_' && r != '-'
	}) < 0
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
