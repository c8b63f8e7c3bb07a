package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"goblin-actor/internal/secret"
	"goblin-actor/protocol/namespace"
)

// Entry is a server as it shall stand in a file: values are written as they are, `${VAR}` included.
type Entry struct {
	Name    string // a slug, as Slug returns it
	Command string
	Args    []string
	Env     []Variable
	Cwd     string
	URL     string // instead of Command
	Type    string // "" = auto
	Headers []Variable
	EnvFile string
	Timeout string // a duration; "" = the default
	Lazy    bool   // it starts with its first call

	Disabled      bool
	ToolsDisabled []string
	ToolsAllow    []string // patterns
	ToolsDeny     []string // patterns
}

// Variable is one member of env or headers.
type Variable struct{ Name, Value string }

// Slug is the name a server gets in a configuration; what people write is made one.
func Slug(name string) string { return namespace.Slug(name) }

// ErrByHand is behind the error of an edit that cannot be made without touching what it must not touch.
var ErrByHand = errors.New("this part of the file is written in a way that has to be changed by hand")

// ErrNoServer is behind the error of an edit of a server that the file does not have.
var ErrNoServer = errors.New("no such server")

// ErrTaken is behind the error of AddServer for a name that is in use.
var ErrTaken = errors.New("there is such a server already")

// ErrSame is returned by an edit that would change nothing.
var ErrSame = errors.New("nothing to change")

// InvalidError is why an edit is refused: the file is no valid configuration before it, or would be none afterwards.
type InvalidError struct {
	Report Report
	After  bool // the edit would break it
}

func (e *InvalidError) Error() string { return e.Report.Err().Error() }

// Names lists the servers of a configuration as the file writes them, in its order. The text need not be valid.
func Names(text string) []string {
	return treeOf(text).serverKeys()
}

// AddServer returns text, the configuration called name, with one more server at the end of mcpServers.
// All edits leave every other byte as it is, comments, order and line ends included; their errors are *InvalidError or
// wrap ErrByHand, ErrNoServer, ErrTaken or ErrSame. Nothing is read but the environment and what the file
// names as envFile, nothing is written.
func AddServer(name, text string, e Entry) (string, error) {
	for _, taken := range Names(text) {
		if Slug(taken) == e.Name {
			return "", fmt.Errorf("%w: %s", ErrTaken, e.Name)
		}
	}
	return edit(name, text, func(d *editor) error {
		return d.insert([]string{"mcpServers"}, e.Name, e.node())
	}, func(root *node) *node { return root.with([]string{"mcpServers", e.Name}, e.node()) })
}

// RemoveServer removes a server with the comments inside of it, and with those that stand right above it, unless it is
// the first, where such a comment may be about all of them.
func RemoveServer(name, text, server string) (string, error) {
	key, err := keyOf(text, server)
	if err != nil {
		return "", err
	}
	return edit(name, text, func(d *editor) error { return d.remove([]string{"mcpServers", key}) },
		func(root *node) *node { return root.with([]string{"mcpServers", key}, nil) })
}

// SetDisabled switches a server off or on.
func SetDisabled(name, text, server string, off bool) (string, error) {
	key, err := keyOf(text, server)
	if err != nil {
		return "", err
	}
	path := []string{"mcpServers", key, "disabled"}
	value := &node{kind: boolean, plain: true, text: fmt.Sprint(off)}
	now := treeOf(text).at(path)
	if isTrue := now != nil && strings.EqualFold(now.text, "true"); isTrue == off && (now == nil || now.kind == boolean) {
		return "", ErrSame
	}
	return edit(name, text, func(d *editor) error { return d.set(path, value) },
		func(root *node) *node { return root.with(path, value) })
}

// SetToolDisabled switches a tool of a server off or on, by the name that server gives it.
func SetToolDisabled(name, text, server, tool string, off bool) (string, error) {
	key, err := keyOf(text, server)
	if err != nil {
		return "", err
	}
	path := []string{"mcpServers", key, "tools", "disabled"}
	now := &node{kind: list}
	if n := treeOf(text).at(path); n != nil && !n.empty() {
		now = n
	}
	at := slices.IndexFunc(now.items, func(n *node) bool { return n.text == tool })
	if at >= 0 == off {
		return "", ErrSame
	}
	want := &node{kind: list}
	if off {
		want.items = append(slices.Clone(now.items), textNode(tool))
	} else {
		want.items = slices.Delete(slices.Clone(now.items), at, at+1)
	}
	return edit(name, text, func(d *editor) error {
		switch {
		case !off:
			return d.removeItem(path, at)
		case len(now.items) == 0:
			return d.set(path, want)
		}
		return d.appendItem(path, textNode(tool))
	}, func(root *node) *node { return root.with(path, want) })
}

// keyOf is the server's name as the file writes it.
func keyOf(text, server string) (string, error) {
	names := Names(text)
	for _, name := range names {
		if name == server || Slug(name) == Slug(server) {
			return name, nil
		}
	}
	if near := Nearest(server, names); near != "" {
		return "", fmt.Errorf("%w %q; did you mean %s?", ErrNoServer, clip(server), clip(near))
	}
	return "", fmt.Errorf("%w %q", ErrNoServer, clip(server))
}

// edit makes the change and proves it: the new text must mean what the old one means with just that change.
func edit(name, text string, change func(*editor) error, want func(*node) *node) (string, error) {
	if _, report := parseAt(name, text); len(report.Faults) > 0 {
		return "", &InvalidError{Report: report}
	}
	d, err := newEditor(text)
	if err != nil {
		return "", err
	}
	if err := change(d); err != nil {
		return "", err
	}
	edited := d.apply()
	after := treeOf(edited)
	expected := want(d.tree)
	if !sameTree(expected, after) || !slices.Equal(expected.serverKeys(), after.serverKeys()) {
		return "", ErrByHand
	}
	if _, report := parseAt(name, edited); len(report.Faults) > 0 {
		return "", &InvalidError{Report: report, After: true}
	}
	return edited, nil
}

// parseAt is Load for a text that is not in its file yet.
func parseAt(path, text string) (*Config, Report) {
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.may.outline = true
	return d.parse([]byte(text))
}

// treeOf is the tree of a text; nil when it has none, or is no configuration at all.
func treeOf(text string) *node {
	data := []byte(lineFeeds(text))
	if len(data) > maxFileBytes || checkShape(data) != nil {
		return nil
	}
	return parseTree([]byte(blankComments(string(data))), quiet, quiet)
}

func quiet(int, int, string, string, string) {}

func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// node is the entry as a tree, its members in the order people write them.
func (e Entry) node() *node {
	n := &node{kind: mapping}
	add := func(key string, value *node) { n.members = append(n.members, member{key: key, value: value}) }
	texts := func(key string, list []Variable) {
		if len(list) == 0 {
			return
		}
		m := &node{kind: mapping}
		for _, v := range list {
			m.members = append(m.members, member{key: v.Name, value: textNode(v.Value)})
		}
		add(key, m)
	}
	items := func(texts []string) *node {
		l := &node{kind: list}
		for _, s := range texts {
			l.items = append(l.items, textNode(s))
		}
		return l
	}
	for _, one := range []struct{ key, value string }{{"command", e.Command}, {"url", e.URL}, {"type", e.Type}} {
		if one.value != "" {
			add(one.key, textNode(one.value))
		}
	}
	if len(e.Args) > 0 {
		add("args", items(e.Args))
	}
	texts("env", e.Env)
	texts("headers", e.Headers)
	if e.Cwd != "" {
		add("cwd", textNode(e.Cwd))
	}
	if e.Lazy {
		add("startup", textNode("lazy"))
	}
	for _, one := range []struct{ key, value string }{{"envFile", e.EnvFile}, {"timeout", e.Timeout}} {
		if one.value != "" {
			add(one.key, textNode(one.value))
		}
	}
	if e.Disabled {
		add("disabled", &node{kind: boolean, plain: true, text: "true"})
	}
	tools := &node{kind: mapping}
	for _, one := range []struct {
		key   string
		texts []string
	}{{"allow", e.ToolsAllow}, {"deny", e.ToolsDeny}, {"disabled", e.ToolsDisabled}} {
		if len(one.texts) > 0 {
			tools.members = append(tools.members, member{key: one.key, value: items(one.texts)})
		}
	}
	if len(tools.members) > 0 {
		add("tools", tools)
	}
	return n
}

// Shown is the entry as a configuration has it, line by line, without values: of arguments, env and headers only variables are
// told, of an address the host.
func (e Entry) Shown() []string {
	hide := func(s string) string { return strings.ReplaceAll(secret.Value(s), secret.Hidden, "…") }
	e.Args = slices.Clone(e.Args)
	for i, word := range e.Args {
		e.Args[i] = hide(word)
	}
	for _, list := range []*[]Variable{&e.Env, &e.Headers} {
		*list = slices.Clone(*list)
		for i, v := range *list {
			(*list)[i].Value = hide(v.Value)
		}
	}
	if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
		e.URL = u.Scheme + "://" + u.Host + "/…"
	} else if e.URL != "" {
		e.URL = "…"
	}
	e.Command, e.Cwd = secret.Text(e.Command), secret.Text(e.Cwd)
	whole := &node{kind: mapping, members: []member{{key: e.Name, value: e.node()}}}
	return renderBlock(whole, "  ", "  ")
}

func textNode(s string) *node { return &node{kind: text, text: s} }
