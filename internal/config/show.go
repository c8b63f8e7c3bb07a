package config

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/internal/secret"
)

// Show writes the effective values as YAML that Load accepts. A comment on the line of each value gives its origin:
// default, or file:line and whether each variable is set. r is the Report that came with c, or the zero Report for
// Default. Show writes references unexpanded and hides secrets: values of env, headers and clientSecret, passwords in
// URLs, and arguments that look like secrets.
//
//	listen: 127.0.0.1:8730        # default
//	mcpServers:
//	  github:
//	    url: https://example.org/mcp             # goblin.yaml:4
//	    headers:
//	      Authorization: "Bearer ${TOKEN}"       # goblin.yaml:5, TOKEN is not set
func Show(w io.Writer, c *Config, r Report) error {
	s := &shower{w: bufio.NewWriter(w), origins: r.origins, clustered: c.Cluster.Present}
	s.fields(reflect.ValueOf(*c), "", 0)
	return s.w.Flush() // returns the first error of any write
}

type shower struct {
	w         *bufio.Writer
	origins   map[string]origin
	clustered bool // the file has the section cluster
}

const commentColumn = 48

// line writes a key, its value ("" if nested keys follow) and its origin.
func (s *shower) line(indent int, key, value, comment string) {
	text := strings.Repeat("  ", indent) + key
	if value != "" {
		text += " " + value
	}
	if comment != "" {
		text = fmt.Sprintf("%-*s # %s", commentColumn-1, text, comment)
	}
	_, _ = s.w.WriteString(text + "\n") // Flush returns the error
}

func (s *shower) fields(v reflect.Value, path string, indent int) {
	section := ""
	for _, f := range fieldsOf(v.Type()) {
		here, deeper := path, indent
		if f.in != "" {
			if f.in != section {
				s.line(indent, f.in+":", "", "")
			}
			here, deeper = join(path, f.in), indent+1
		}
		section = f.in
		if f.key == "allow" && v.FieldByIndex(f.index).Len() == 0 && strings.HasPrefix(path, "policy.roles.") {
			continue // an empty allow in a role is an error
		}
		s.value(v.FieldByIndex(f.index), f, join(here, f.key), deeper)
	}
}

func (s *shower) value(v reflect.Value, f field, path string, indent int) {
	switch value := v.Interface().(type) {
	case []Server:
		s.servers(value, path, indent)
	case []Project:
		s.projects(value, path, indent)
	case []ForwardHeader:
		s.forwardHeaders(value, path, indent)
	case []Role:
		s.roles(value, path, indent)
	case []Binding:
		s.bindings(value, path, indent)
	case TLS:
		if value.Off {
			s.line(indent, "tls:", "off", s.origin(path))
			return
		}
		s.line(indent, f.key+":", "", "")
		s.fields(v, path, indent+1)
	case Policy:
		if !value.Present { // an empty section would deny everything
			return
		}
		s.line(indent, f.key+":", "", "")
		s.fields(v, path, indent+1)
	case Cluster:
		if !value.Present {
			return
		}
		s.line(indent, f.key+":", "", "")
		s.fields(v, path, indent+1)
	case []string:
		s.list(value, f, path, indent)
	case map[string]string:
		s.texts(value, f, path, indent)
	case string, bool, int, int64, time.Duration:
		s.line(indent, f.key+":", s.scalar(value, f, path), s.origin(path))
	default:
		s.line(indent, f.key+":", "", "")
		s.fields(v, path, indent+1)
	}
}

func (s *shower) servers(servers []Server, path string, indent int) {
	if len(servers) == 0 {
		s.line(indent, "mcpServers:", "{}", s.origin(path))
		return
	}
	s.line(indent, "mcpServers:", "", "")
	for _, server := range servers {
		comment := ""
		switch {
		case server.Fault != "":
			comment = "misconfigured: " + server.Fault
		case server.Written != server.Name:
			comment = "written " + strconv.Quote(server.Written)
		}
		s.line(indent+1, server.Name+":", "", comment)
		switch server.Prefix {
		case "":
			server.Prefix = cmp.Or(server.Group, server.Name)
		case NoPrefix:
			server.Prefix = ""
		}
		v := reflect.ValueOf(server)
		for _, f := range fieldsOf(v.Type()) {
			if applies(server, f.key) && (s.clustered || f.key != "run") {
				s.value(v.FieldByIndex(f.index), f, join(join(path, server.Written), f.key), indent+2)
			}
		}
	}
}

// applies reports whether the key has a meaning for this kind of server.
func applies(server Server, key string) bool {
	switch key {
	case "command", "args", "env", "envFile", "inheritEnv", "cwd", "replicas":
		return len(server.URLs) == 0
	case "urls", "headers", "forwardHeaders", "auth":
		return len(server.URLs) > 0
	}
	return true
}

func (s *shower) projects(projects []Project, path string, indent int) {
	if len(projects) == 0 {
		s.line(indent, "projects:", "{}", s.origin(path))
		return
	}
	s.line(indent, "projects:", "", "")
	for _, p := range projects {
		s.line(indent+1, p.Name+":", "", "")
		v := reflect.ValueOf(p)
		for _, f := range fieldsOf(v.Type()) {
			if (f.key == "servers" || f.key == "labels") && v.FieldByIndex(f.index).Len() == 0 {
				continue // an empty list is an error
			}
			s.value(v.FieldByIndex(f.index), f, join(join(path, p.Written), f.key), indent+2)
		}
	}
}

func (s *shower) roles(roles []Role, path string, indent int) {
	if len(roles) == 0 {
		s.line(indent, "roles:", "{}", s.origin(path))
		return
	}
	s.line(indent, "roles:", "", "")
	for _, r := range roles {
		s.line(indent+1, r.Name+":", "", "")
		v := reflect.ValueOf(r)
		for _, f := range fieldsOf(v.Type()) {
			if f.key == "servers" && len(r.Servers) == 0 || f.key == "projects" && len(r.Projects) == 0 {
				continue
			}
			s.value(v.FieldByIndex(f.index), f, join(join(path, r.Written), f.key), indent+2)
		}
	}
}

func (s *shower) bindings(bindings []Binding, path string, indent int) {
	parts := make([]string, len(bindings))
	for i, b := range bindings {
		keys := make([]string, len(b.Keys))
		for j, key := range b.Keys {
			keys[j] = quote(key)
		}
		parts[i] = fmt.Sprintf("{role: %s, keys: [%s], local: %v}", quote(b.Role), strings.Join(keys, ", "), b.Local)
	}
	s.line(indent, "bind:", "["+strings.Join(parts, ", ")+"]", s.origin(path))
}

func (s *shower) forwardHeaders(headers []ForwardHeader, path string, indent int) {
	parts := make([]string, len(headers))
	for i, h := range headers {
		parts[i] = fmt.Sprintf("{from: %s, to: %s, prefix: %s}", quote(h.From), quote(h.To), quote(h.Prefix))
	}
	s.line(indent, "forwardHeaders:", "["+strings.Join(parts, ", ")+"]", s.origin(path))
}

func (s *shower) list(items []string, f field, path string, indent int) {
	key := f.key
	if one := strings.TrimSuffix(path, f.key) + f.also; f.also != "" && s.origins[one].line > 0 {
		key, path = f.also, one
		s.line(indent, key+":", quote(secret.URL(s.text(path, items[0]))), s.origin(path))
		return
	}
	parts := s.written(path, items)
	if f.key == "args" {
		parts = secret.Arguments(parts)
	}
	comment := s.origin(path)
	for i := range items {
		if f.secret {
			parts[i] = secret.Value(parts[i])
		}
		parts[i] = quote(secret.URL(parts[i]))
		comment += setOrNot(s.origins[place{path: path}.item(i).path].refs)
	}
	s.line(indent, key+":", "["+strings.Join(parts, ", ")+"]", comment)
}

// written returns the elements of the list at path as written in the file.
func (s *shower) written(path string, items []string) []string {
	words := make([]string, len(items))
	for i := range items {
		at := place{path: path}.item(i).path
		if _, ok := s.origins[at]; !ok {
			at = path // written as a string instead of a list
		}
		words[i] = s.text(at, items[i])
	}
	return words
}

// CommandLine returns the command and arguments of a server as written in the file: with references, with `$$` for a dollar sign, and
// with secrets hidden. r is the Report that came with the configuration.
func (r Report) CommandLine(server Server) []string {
	s := &shower{origins: r.origins}
	at := place{path: join("mcpServers", server.Written)}
	program := s.text(at.key("command").path, server.Command)
	return append([]string{secret.Text(program)}, secret.Arguments(s.written(at.key("args").path, server.Args))...)
}

func (s *shower) texts(m map[string]string, f field, path string, indent int) {
	if len(m) == 0 {
		s.line(indent, f.key+":", "{}", s.origin(path))
		return
	}
	s.line(indent, f.key+":", "", "")
	for _, key := range sortedKeys(m) {
		at := join(path, key)
		value := s.text(at, m[key])
		if f.secret {
			value = secret.Value(value)
		} else {
			value = secret.Pair(key, value)
		}
		s.line(indent+1, quote(key)+":", quote(value), s.origin(at))
	}
}

func (s *shower) scalar(value any, f field, path string) string {
	if o := s.origins[path]; len(o.refs) > 0 {
		return quote(secret.Text(o.written))
	}
	switch value := value.(type) {
	case int64:
		return formatBytes(value)
	case time.Duration:
		return formatDuration(value)
	case string:
		if f.oneof != nil {
			return value
		}
		if f.secret {
			return quote(secret.Value(value))
		}
		if f.key == "cwd" { // a directory may look like a secret, but is not one
			return quote(value)
		}
		return quote(secret.Text(value))
	}
	return fmt.Sprint(value)
}

// text returns the value at path as written in the file, with references instead of their values.
func (s *shower) text(path, value string) string {
	if o := s.origins[path]; len(o.refs) > 0 {
		return o.written
	}
	return strings.ReplaceAll(value, "$", "$$")
}

// origin returns the origin of the value at path for a comment.
func (s *shower) origin(path string) string {
	o, ok := s.origins[path]
	if !ok {
		return "default"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(o.file), o.line) + setOrNot(o.refs)
}

func setOrNot(refs []reference) string {
	var b strings.Builder
	for _, r := range refs {
		if r.set {
			b.WriteString(", " + r.name + " is set")
		} else {
			b.WriteString(", " + r.name + " is not set")
		}
	}
	return b.String()
}

// quote returns s as a YAML scalar, without quotes if they are not needed.
func quote(s string) string {
	bare := s != "" && (s[0] == '/' || s[0] == '_' || s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z') &&
		strings.IndexFunc(s, func(r rune) bool {
			return r > '~' || !isWordByte(byte(r)) && !strings.ContainsRune("_/.-", r)
		}) < 0
	if bare && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

// formatDuration formats d without trailing zero units: 1m instead of 1m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if short := strings.TrimSuffix(s, "m0s"); short != s {
		s = short + "m"
	}
	if short := strings.TrimSuffix(s, "h0m"); short != s {
		s = short + "h"
	}
	return s
}
