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

// Entry is a server to write to a file. Values are written as they are, including `${VAR}`.
type Entry struct {
	Name    string // a slug, as Slug returns it
	Command string
	Args    []string
	Env     []Variable
	Cwd     string
	URL     string // instead of Command
	Type    string // "" for auto
	Headers []Variable
	EnvFile string
	Timeout string // a duration; "" for the default
	Lazy    bool   // start on the first call
	Run     string // where it runs in a cluster: each, one or the name of a node; "" for the default

	Disabled      bool
	ToolsDisabled []string
	ToolsAllow    []string // patterns
	ToolsDeny     []string // patterns
}

// Variable is one member of env or headers.
type Variable struct{ Name, Value string }

// Slug converts name to a valid server name.
func Slug(name string) string { return namespace.Slug(name) }

// ErrByHand is returned by an edit that cannot be made without changing other parts of the file.
var ErrByHand = errors.New("this part of the file cannot be edited automatically; edit it by hand")

// ErrNoServer is wrapped by the error of an edit if the file does not have the server.
var ErrNoServer = errors.New("no such server")

// ErrTaken is wrapped by the error of AddServer if the name is in use.
var ErrTaken = errors.New("a server with this name already exists")

// ErrSame is returned by an edit that would change nothing.
var ErrSame = errors.New("nothing to change")

// InvalidError reports that an edit is refused, because the file is not valid or would not be valid afterwards.
type InvalidError struct {
	Report Report
	After  bool // the file would not be valid after the edit
}

func (e *InvalidError) Error() string { return e.Report.Err().Error() }

// Names returns the names of the servers as written in text, in file order. The text need not be valid.
func Names(text string) []string {
	return treeOf(text).serverKeys()
}

// AddServer adds a server at the end of mcpServers in text, the configuration called name, and returns the result.
//
// Edits do not change any other byte, including comments, order and line endings. Their errors are *InvalidError or
// wrap ErrByHand, ErrNoServer, ErrTaken or ErrSame. They read only the environment, envFiles and the files of ${file:…}
// references, and write nothing.
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

// RemoveServer removes a server and the comments inside it. It also removes comments directly above it, except above the first server, where
// they may apply to all servers.
func RemoveServer(name, text, server string) (string, error) {
	key, err := keyOf(text, server)
	if err != nil {
		return "", err
	}
	return edit(name, text, func(d *editor) error { return d.remove([]string{"mcpServers", key}) },
		func(root *node) *node { return root.with([]string{"mcpServers", key}, nil) })
}

// SetDisabled disables or enables a server.
func SetDisabled(name, text, server string, off bool) (string, error) {
	key, err := keyOf(text, server)
	if err != nil {
		return "", err
	}
	path, wanted := []string{"mcpServers", key, "disabled"}, off
	if foreign := []string{"mcpServers", key, "enabled"}; treeOf(text).at(foreign) != nil { // as other clients write it
		path, wanted = foreign, !off
	}
	value := &node{kind: boolean, plain: true, text: fmt.Sprint(wanted)}
	now := treeOf(text).at(path)
	if isTrue := now != nil && strings.EqualFold(now.text, "true"); isTrue == wanted && (now == nil || now.kind == boolean) {
		return "", ErrSame
	}
	return edit(name, text, func(d *editor) error { return d.set(path, value) },
		func(root *node) *node { return root.with(path, value) })
}

// SetToolDisabled disables or enables a tool of a server, by the server's name for it. References in the tool's name are not
// resolved: the name may come from a server. For a group, SetToolDisabled edits the first member, whose settings apply.
func SetToolDisabled(name, text, server, tool string, off bool) (string, error) {
	key, err := keyOf(text, server)
	if members := membersOf(text, server); err != nil && len(members) > 0 {
		key, err = members[0], nil
	}
	if err != nil {
		return "", err
	}
	path := []string{"mcpServers", key, "tools", "disabled"}
	if foreign := []string{"mcpServers", key, "disabledTools"}; treeOf(text).at(foreign) != nil {
		path = foreign
	}
	now := &node{kind: list}
	if n := treeOf(text).at(path); n != nil && !n.empty() {
		now = n
	}
	at := slices.IndexFunc(now.items, func(n *node) bool { return expand(n.text, sources{env: os.LookupEnv}).text == tool })
	if at >= 0 == off {
		return "", ErrSame
	}
	want, added := &node{kind: list}, textNode(strings.ReplaceAll(tool, "$", "$$"))
	if off {
		want.items = append(slices.Clone(now.items), added)
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
		return d.appendItem(path, added)
	}, func(root *node) *node { return root.with(path, want) })
}

// keyOf returns the server's name as written in text. If there is no such server, the error wraps ErrNoServer.
func keyOf(text, server string) (string, error) {
	names := Names(text)
	for _, name := range names {
		if name == server || Slug(name) == Slug(server) {
			return name, nil
		}
	}
	if members := membersOf(text, server); len(members) > 0 {
		return "", fmt.Errorf("%w %q; it is a group of servers: %s", ErrNoServer, clip(server), clip(strings.Join(members, ", ")))
	}
	if near := Nearest(server, names); near != "" {
		return "", fmt.Errorf("%w %q; did you mean %s?", ErrNoServer, clip(server), clip(near))
	}
	return "", fmt.Errorf("%w %q", ErrNoServer, clip(server))
}

// membersOf returns the names of the servers in a group as written in text, in file order.
func membersOf(text, group string) (members []string) {
	servers := treeOf(text).member("mcpServers")
	if servers == nil {
		return nil
	}
	for _, m := range servers.members {
		if group != "" && m.value.word("group") == group {
			members = append(members, m.key)
		}
	}
	return members
}

// edit applies a change and verifies it: the tree of the new text must equal the old tree with the wanted change.
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

// parseAt is like Outline for text that has not been written to the file at path.
func parseAt(path, text string) (*Config, Report) {
	d := newDecoder(path, os.LookupEnv)
	d.reads(path)
	d.may.outline = true
	return d.parse([]byte(text))
}

// treeOf parses text. It returns nil if text is empty, not valid or beyond a limit.
func treeOf(text string) *node {
	data := []byte(lineFeeds(text))
	if len(data) > maxFileBytes || checkShape(data) != nil {
		return nil
	}
	return parseTree([]byte(blankComments(string(data))), quiet, quiet)
}

func quiet(int, int, string, string, string) {}

func lineFeeds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// node converts the entry to a tree, with members in the usual order.
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
	for _, one := range []struct{ key, value string }{{"run", e.Run}, {"envFile", e.EnvFile}, {"timeout", e.Timeout}} {
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

// Shown returns the lines of the entry in a configuration, with values hidden. Arguments, env and headers show only
// references, and an address shows only its scheme and host.
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
