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

// mostSeconds is the largest number without unit that is read as seconds in another program's file. Cline and Roo write timeouts in seconds, up
// to an hour. Gemini CLI and Claude Code write milliseconds, where less than four seconds is not plausible.
const mostSeconds = 3600

// maxLooked is the maximum number of foreign keys to compare with known keys, and of ignored keys to record.
const maxLooked = 200

// renamed maps keys of other programs' entries to keys of the gateway.
var renamed = map[string]string{
	"serverUrl": "url", "httpUrl": "url", "transport": "type", "transportType": "type", "workingDirectory": "cwd",
}

var configType, serverType = reflect.TypeFor[Config](), reflect.TypeFor[Server]()

// filters maps the keys with which other programs filter tools to keys of Filter.
var filters = map[string]string{"disabledTools": "disabled", "includeTools": "allow", "enabledTools": "allow", "excludeTools": "deny"}

// elsewhere maps root keys for servers in a different format to the client that uses them.
var elsewhere = map[string]string{"servers": "vscode", "context_servers": "zed"}

// isForeign reports whether root is another program's file with MCP servers: JSON, with mcpServers or a key of the map
// `elsewhere`, and with no other key of the gateway. The projects of Claude Code do not count as such a key, and
// `$schema` counts only if it contains "goblin". Such a file is read as the other program would read it.
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

// adopt converts another program's file to the gateway's format.
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
			d.fault(m.line, m.column, m.key, "servers in the format of another program",
				fmt.Sprintf("to import them, run goblin-actor config import %s --file %s", client, clip(d.file)))
		case m.key == "projects":
			d.ignore(m, "")
		case m.key == "mcpServers", m.key == "$schema", d.resemblesKnown(m.key, keysOf(configType, "")), strings.HasPrefix(m.key, "/"):
			kept = append(kept, m)
		default:
			d.ignore(m, "")
		}
	}
	root.members = kept
}

// adoptEntry converts the entry of one server.
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
		case m.key == "type" && (m.value.text == "local" || m.value.text == "remote"): // Copilot's types, which follow from the other keys
		case slices.Contains(foreignKeys["mcpServers"], m.key), !d.resemblesKnown(m.key, known) && !strings.HasPrefix(m.key, "/"):
			d.ignore(m, server)
		default:
			add(m.key, m)
		}
	}
	n.members = kept
}

// initHeaders returns the headers of init, the requestInit of entry, which clients built with the TypeScript SDK use.
// If entry has headers of its own, initHeaders adds those that are not set there, and returns nil.
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

// resemblesKnown reports whether key is, or resembles, a known key. Only the first maxLooked keys are compared, because comparing is slow.
func (d *decoder) resemblesKnown(key string, known []string) bool {
	if slices.Contains(known, key) {
		return true
	}
	d.looked++
	return d.looked <= maxLooked && Nearest(key, known) != ""
}

func inMapping(key string, m member) *node {
	return &node{kind: mapping, line: m.line, column: m.column, size: m.value.size + 1, members: []member{{key, m.line, m.column, m.value}}}
}

// adoptTimeout adds a unit to a timeout without one, and warns about it.
func (d *decoder) adoptTimeout(server string, m member) {
	written := m.value.text
	taken := ForeignTimeout(written)
	if taken == "" {
		return
	}
	m.value.kind, m.value.text = text, taken
	hint := fmt.Sprintf("units differ between programs: a number up to %d is read as seconds, a larger one as milliseconds", mostSeconds)
	if d.unitsExplained {
		hint = ""
	}
	d.unitsExplained = true
	d.warn(m.value.line, m.value.column, join(join("mcpServers", server), m.key), fmt.Sprintf("%s is read as %s", written, taken), hint)
}

// ForeignTimeout adds a unit to a number in another program's file. It returns "" if written is not a positive number.
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

// ignore records a key without meaning for the gateway. server is "" at the root.
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

// ignoredKey is an ignored key and the servers that have it.
type ignoredKey struct {
	key          string
	line, column int
	servers      []string // nil for the root
}

// warnIgnored adds one warning that lists the ignored keys.
func (d *decoder) warnIgnored() {
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
			others := "1 other server"
			if n > 2 {
				others = fmt.Sprintf("%d other servers", n-1)
			}
			name += fmt.Sprintf(" of %s and %s", clip(one.servers[0]), others)
		}
		names = append(names, name)
	}
	first := d.ignored[0]
	d.warn(first.line, first.column, "", "ignored keys of another program: "+strings.Join(names, ", "), "")
}

// freeName returns a free name derived from a taken one, for another program's file. ok is false if it finds none, and
// always for the user's own file, in which the server can be renamed.
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

// IsGateway reports whether a command line runs this program as a gateway, not as a built-in server (demo NAME, bench server).
func IsGateway(command string, args []string) bool {
	if !slices.Contains(args, "stdio") && !slices.Contains(args, "serve") {
		return false
	}
	base := path.Base(strings.ReplaceAll(command, `\`, "/"))
	return strings.TrimSuffix(base, ".exe") == "goblin-actor" || filepath.IsAbs(command) && isSelf(command)
}

// isSelf reports whether command is the executable of this process, possibly under another name.
func isSelf(command string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	ours, errOurs := os.Stat(self)
	theirs, err := os.Stat(command)
	return errOurs == nil && err == nil && os.SameFile(ours, theirs)
}

// isOurs reports whether an entry leads back to this gateway: it runs the gateway or connects to it.
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
	return slices.ContainsFunc(args, func(word string) bool { // also arguments of a program that connects there, such as mcp-remote
		u, err := url.Parse(word)
		return err == nil && u.Host != "" && slices.Contains(d.listen, loopbackName(u.Host))
	})
}

// loopbackName replaces the host of host:port with 127.0.0.1 if it is localhost or [::1].
func loopbackName(host string) string {
	for _, name := range []string{"localhost:", "[::1]:"} {
		if port, ok := strings.CutPrefix(host, name); ok {
			return "127.0.0.1:" + port
		}
	}
	return host
}

// listensAt returns the listen addresses in root, normalized by loopbackName.
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

// foreignVariable matches a variable in the syntax of Cursor, Windsurf and VS Code.
var foreignVariable = pattern.Lazy(`\$\{(?:env:([A-Za-z_][A-Za-z0-9_]*)|(userHome))\}`)

// ownVariables converts another program's variables to the gateway's syntax.
func ownVariables(s string) string {
	return foreignVariable().ReplaceAllStringFunc(s, func(v string) string {
		if name := foreignVariable().FindStringSubmatch(v)[1]; name != "" {
			return "${" + name + "}"
		}
		return "${HOME}"
	})
}
