package config

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/pattern"
)

// mostSeconds is the largest bare number that is taken for seconds in another program's file: Cline and Roo write their
// timeouts in seconds, an hour at most; Gemini CLI and Claude Code in milliseconds, of which nobody means less than four seconds.
const mostSeconds = 3600

// maxLooked is how many keys of other programs are told apart.
const maxLooked = 200

// renamed are the keys of other programs' entries that mean one of ours.
var renamed = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "transport": "type", "transportType": "type", "workingDirectory": "cwd",
}

var configType, serverType = reflect.TypeFor[Config](), reflect.TypeFor[Server]()

// filters are the keys of other programs that choose tools.
var filters = map[string]string{"disabledTools": "disabled", "includeTools": "allow", "enabledTools": "allow", "excludeTools": "deny"}

// elsewhere are the keys under which programs keep servers that are written in a way of their own.
var elsewhere = map[string]string{"servers": "vscode", "context_servers": "zed"}

// isForeign tells whether root is the file of another program that keeps its MCP servers in it: JSON, and of our keys
// none but mcpServers. Such a file is read as those programs mean it.
func isForeign(source []byte, root *node) bool {
	if root.kind != mapping || !beginsJSON(string(source)) {
		return false
	}
	if !slices.ContainsFunc(root.members, func(m member) bool { return m.key == "mcpServers" || elsewhere[m.key] != "" }) {
		return false
	}
	ours := append(keysOf(configType, ""), laterSections...)
	return !slices.ContainsFunc(root.members, func(m member) bool {
		switch {
		case m.key == "mcpServers":
			return false
		case m.key == "projects": // Claude Code has its own, by directory
			return !slices.ContainsFunc(m.value.members, func(p member) bool { return strings.ContainsAny(p.key, `/\`) })
		case m.key == "$schema":
			return strings.Contains(m.value.text, "goblin")
		}
		return slices.Contains(ours, m.key)
	})
}

// adopt makes another program's file one of ours, as far as it says the same.
func (d *decoder) adopt(root *node) {
	kept := root.members[:0:0]
	for _, m := range root.members {
		if m.key == "mcpServers" {
			for _, entry := range m.value.members {
				d.adoptEntry(entry.key, entry.value)
			}
		}
		client := elsewhere[m.key]
		switch {
		case client != "" && m.value.kind == mapping && root.member("mcpServers") == nil:
			d.fault(m.line, m.column, m.key, "servers of another program, in a way of its own",
				fmt.Sprintf("goblin-actor config import %s --file %s takes them over", client, clip(d.file)))
		case m.key == "projects":
			d.ignore(m, "")
		case m.key == "mcpServers", m.key == "$schema", d.misspelt(m.key, keysOf(configType, "")), strings.HasPrefix(m.key, "/"):
			kept = append(kept, m)
		default:
			d.ignore(m, "")
		}
	}
	root.members = kept
}

// adoptEntry does the same for one server.
func (d *decoder) adoptEntry(server string, n *node) {
	if n == nil || n.kind != mapping {
		return
	}
	known := keysOf(serverType, "")
	var kept []member
	add := func(key string, m member) {
		if !slices.ContainsFunc(kept, func(k member) bool { return k.key == key }) && (m.key == key || n.member(key) == nil) {
			m.key = key
			kept = append(kept, m)
		}
	}
	for _, m := range n.members {
		switch {
		case renamed[m.key] != "":
			add(renamed[m.key], m)
		case m.key == "enabled" && m.value.kind == boolean:
			m.value.text = strconv.FormatBool(!strings.EqualFold(m.value.text, "true"))
			add("disabled", m)
		case filters[m.key] != "" && m.value.kind == list:
			add("tools", member{m.key, m.line, m.column, inMapping(filters[m.key], m)})
		case m.key == "tools" && m.value.kind == list:
			if !slices.ContainsFunc(m.value.items, func(item *node) bool { return item.text == "*" }) {
				add("tools", member{m.key, m.line, m.column, inMapping("allow", m)})
			}
		case m.key == "requestInit" && m.value.kind == mapping:
			if headers := d.initHeaders(server, n, m.value); headers != nil {
				add("headers", member{"headers", m.line, m.column, headers})
			}
		case m.key == "timeout" && m.value.kind == number:
			d.adoptTimeout(server, m)
			add("timeout", m)
		case m.key == "type" && (m.value.text == "local" || m.value.text == "remote"): // Copilot's words for what is seen anyway
		case slices.Contains(foreignKeys["mcpServers"], m.key), !d.misspelt(m.key, known) && !strings.HasPrefix(m.key, "/"):
			d.ignore(m, server)
		default:
			add(m.key, m)
		}
	}
	n.members = kept
}

// initHeaders returns the headers of init, the requestInit of entry, as clients that are made with the TypeScript SDK have them. Those
// beside a key headers of the entry are added to it, and nil is returned; its own come first.
func (d *decoder) initHeaders(server string, entry, init *node) *node {
	for _, m := range init.members {
		if m.key != "headers" {
			m.key = "requestInit." + m.key
			d.ignore(m, server)
		}
	}
	headers := init.member("headers")
	if headers == nil || headers.kind != mapping {
		return nil
	}
	own := entry.member("headers")
	if own == nil || own.kind != mapping {
		return headers
	}
	for _, m := range headers.members {
		if !slices.ContainsFunc(own.members, func(o member) bool { return strings.EqualFold(o.key, m.key) }) {
			own.members = append(own.members, m)
		}
	}
	return nil
}

// misspelt tells a key that is most likely one of ours. Of very many keys only the first are looked at: it takes its time.
func (d *decoder) misspelt(key string, known []string) bool {
	if slices.Contains(known, key) {
		return true
	}
	d.looked++
	return d.looked <= maxLooked && Nearest(key, known) != ""
}

func inMapping(key string, m member) *node {
	return &node{kind: mapping, line: m.line, column: m.column, size: m.value.size + 1, members: []member{{key, m.line, m.column, m.value}}}
}

// adoptTimeout gives a bare number its unit, and says which.
func (d *decoder) adoptTimeout(server string, m member) {
	written := m.value.text
	taken := ForeignTimeout(written)
	if taken == "" {
		return
	}
	m.value.kind, m.value.text = text, taken
	hint := fmt.Sprintf("programs differ: a number up to %d is taken for seconds, a larger one for milliseconds", mostSeconds)
	if d.unitsTold {
		hint = ""
	}
	d.unitsTold = true
	d.warn(m.value.line, m.value.column, join(join("mcpServers", server), m.key), fmt.Sprintf("%s is taken for %s", written, taken), hint)
}

// ForeignTimeout is a bare number of another program's file as a duration of ours; "" for what is none.
func ForeignTimeout(written string) string {
	value, err := strconv.ParseFloat(written, 64)
	switch {
	case err != nil || value <= 0:
		return ""
	case value > mostSeconds:
		return written + "ms"
	}
	return written + "s"
}

// ignore remembers a key that means nothing here; server is "" at the root.
func (d *decoder) ignore(m member, server string) {
	for i := range d.ignored {
		if one := &d.ignored[i]; one.key == m.key && (one.servers == nil) == (server == "") {
			one.servers = append(one.servers, server)
			return
		}
	}
	if len(d.ignored) >= maxLooked {
		d.ignoredMore++
		return
	}
	one := ignoredKey{key: m.key, line: m.line, column: m.column}
	if server != "" {
		one.servers = []string{server}
	}
	d.ignored = append(d.ignored, one)
}

// ignoredKey is a key of another program and the servers it stands at.
type ignoredKey struct {
	key          string
	line, column int
	servers      []string // nil = at the root
}

// tellIgnored names all that was ignored in one warning.
func (d *decoder) tellIgnored() {
	if len(d.ignored) == 0 {
		return
	}
	const most = 8
	var names []string
	for i, one := range d.ignored {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(d.ignored)-most+d.ignoredMore))
			break
		}
		name := clip(one.key)
		switch n := len(one.servers); {
		case n == 1:
			name += " of " + clip(one.servers[0])
		case n > 1:
			name += fmt.Sprintf(" of %s and %d more", clip(one.servers[0]), n-1)
		}
		names = append(names, name)
	}
	first := d.ignored[0]
	d.warn(first.line, first.column, "", "ignored, as another program's: "+strings.Join(names, ", "), "")
}

// freeName is a name like the one that is taken; ok is false outside of other programs' files, where people see to that.
func (d *decoder) freeName(name string, first map[string]member) (free string, ok bool) {
	if !d.foreign || len(name)+3 > maxNameLength {
		return name, false
	}
	for n := 2; n < 100; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
		if _, taken := first[free]; !taken {
			return free, true
		}
	}
	return name, false
}

// IsGateway tells a command line that runs this program as a gateway, not as one of its own servers (demo NAME, bench server).
func IsGateway(command string, args []string) bool {
	if !slices.Contains(args, "stdio") && !slices.Contains(args, "serve") {
		return false
	}
	base := path.Base(strings.ReplaceAll(command, `\`, "/"))
	return strings.TrimSuffix(base, ".exe") == "goblin-actor" || filepath.IsAbs(command) && isSelf(command)
}

// isSelf tells whether command is the file of this process: it may have been renamed.
func isSelf(command string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	ours, errOurs := os.Stat(self)
	theirs, err := os.Stat(command)
	return errOurs == nil && err == nil && os.SameFile(ours, theirs)
}

// isOurs tells an entry that leads back to this gateway: it runs it, or is where it listens.
func (d *decoder) isOurs(n *node) bool {
	if n == nil || n.kind != mapping {
		return false
	}
	var args []string
	if list := n.member("args"); list != nil {
		for _, item := range list.items {
			args = append(args, item.text)
		}
	}
	if command := n.member("command"); command != nil && IsGateway(command.text, args) {
		return true
	}
	if address := n.member("url"); address != nil {
		args = append(args, address.text)
	}
	return slices.ContainsFunc(args, func(word string) bool { // also of a program that only leads there, as mcp-remote
		u, err := url.Parse(word)
		return err == nil && u.Host != "" && slices.Contains(d.listen, loopbackName(u.Host))
	})
}

// loopbackName writes the names of this machine in one way.
func loopbackName(host string) string {
	for _, name := range []string{"localhost:", "[::1]:"} {
		if port, ok := strings.CutPrefix(host, name); ok {
			return "127.0.0.1:" + port
		}
	}
	return host
}

// listensAt is where the gateway of root listens, as loopbackName writes it.
func listensAt(root *node) []string {
	n := root.member("listen")
	if n == nil || n.empty() {
		return []string{DefaultListen}
	}
	list := []string{loopbackName(n.text)}
	for _, item := range n.items {
		list = append(list, loopbackName(item.text))
	}
	return list
}

// spokenVariable is a variable as Cursor, Windsurf and VS Code write it.
var spokenVariable = pattern.Lazy(`\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|(userHome))\}`)

// ownVariables writes another program's variables as ours.
func ownVariables(s string) string {
	return spokenVariable().ReplaceAllStringFunc(s, func(v string) string {
		if name := spokenVariable().FindStringSubmatch(v)[1]; name != "" {
			return "${" + name + "}"
		}
		return "${HOME}"
	})
}
