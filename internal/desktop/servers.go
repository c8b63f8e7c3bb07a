package desktop

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"goblin-actor/internal/config"
)

// Found is a server in a client's file.
type Found struct {
	Name    string       // as written in the file
	Entry   config.Entry // converted entry, without Name
	Notes   []string     // differences to report to the user
	Ignored []string     // keys that have no meaning for the gateway
	Skipped string       // why it cannot be imported; "" if it can
	Ours    bool         // it refers to a goblin-actor gateway
	Dir     string       // project directory of Claude Code that contains it; "" if none
}

// entryFile is an entry in the format of any client.
type entryFile struct {
	Type, Transport         string
	TransportType           string
	Command                 json.RawMessage // a string; an object in older versions of Zed
	Args                    argList
	RequestInit             struct{ Headers map[string]json.RawMessage } // clients built with the TypeScript SDK
	Env, Headers            map[string]json.RawMessage
	Cwd, EnvFile            string
	WorkingDirectory        string
	URL, ServerURL, HTTPURL string
	Disabled                bool
	Enabled                 *bool
	DisabledTools           []string
	IncludeTools            []string
	ExcludeTools            []string
	Timeout                 json.RawMessage
	Settings, OAuth, Auth   json.RawMessage
}

// argList is the arguments of a program: a list or, in some files, a single string.
type argList []json.RawMessage

// UnmarshalJSON reads a list, or splits a string into words.
func (l *argList) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return json.Unmarshal(raw, (*[]json.RawMessage)(l))
	}
	for _, word := range config.Words(text) {
		*l = append(*l, json.RawMessage(hujson.String(word)))
	}
	return nil
}

// readKeys are the keys of entryFile, and other keys that are not reported as ignored.
var readKeys = []string{"type", "transport", "transportType", "requestInit", "command", "args", "env", "headers", "cwd", "envFile", "workingDirectory", "url", "serverUrl", "httpUrl",
	"disabled", "enabled", "disabledTools", "includeTools", "excludeTools", "timeout", "settings", "oauth", "auth", "source", "name", "description"}

// Servers returns the servers in text, the client's file, in file order. For Claude Code, it includes those of project
// directory dir. Errors are *SyntaxError or wrap ErrByHand. An invalid entry is only marked as Skipped.
func (c Client) Servers(text, dir string, h Host) ([]Found, error) {
	root, err := parse(orEmpty(text))
	if err != nil {
		return nil, err
	}
	paths := [][]string{{c.key}}
	if c.ID == "claude-code" && dir != "" {
		paths = append(paths, []string{"projects", dir, c.key})
	}
	var all []Found
	for _, keys := range paths {
		at := &root
		for _, key := range keys {
			found, err := member(*at, key)
			if err != nil {
				return nil, err
			}
			if found == nil || found.Value.Value.Kind() == 'n' {
				at = nil
				break
			}
			at = &found.Value
		}
		if at == nil {
			continue
		}
		servers, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%q is not an object: %w", c.key, ErrByHand)
		}
		for _, m := range servers.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			found := c.server(name.String(), m.Value, h)
			if len(keys) > 1 {
				found.Dir = dir
			}
			all = append(all, found)
		}
	}
	return all, nil
}

// server converts one entry.
func (c Client) server(name string, v hujson.Value, h Host) Found {
	f := Found{Name: name}
	var e entryFile
	if err := decode(v, &e); err != nil {
		f.Skipped = err.Error()
		return f
	}
	e.flatten()
	t := translator{dialect: c.vars, host: h, found: &f}
	entry := config.Entry{
		Command: t.text(scalar(e.Command)), Cwd: t.text(firstOf(e.Cwd, e.WorkingDirectory)),
		URL:      t.text(firstOf(e.URL, e.ServerURL, e.HTTPURL)),
		Disabled: e.Disabled || e.Enabled != nil && !*e.Enabled, ToolsDisabled: e.DisabledTools,
		ToolsAllow: e.IncludeTools, ToolsDeny: e.ExcludeTools, Timeout: timeoutOf(scalar(e.Timeout)),
		Env: t.variables(order(v, "env"), e.Env), Headers: t.variables(order(v, "headers"), e.Headers),
	}
	entry.Headers = append(entry.Headers, t.variables(nil, e.initHeaders())...)
	for _, arg := range e.Args {
		entry.Args = append(entry.Args, t.text(scalar(arg)))
	}
	if !config.IsGateway(entry.Command, entry.Args) {
		t.correct(&entry)
	}
	switch kind := firstOf(e.Type, e.Transport, e.TransportType); {
	case entry.Command == "" && entry.URL == "" && len(e.Settings) > 0:
		f.Skipped = "it is run by an extension of " + c.Title
	case entry.Command == "" && entry.URL == "":
		f.Skipped = "it has no command and no address"
	case config.IsGateway(entry.Command, entry.Args):
		f.Skipped, f.Ours = "it is this gateway", true
	case entry.URL == "":
	case kind == "sse":
		entry.Type = "sse"
	case !slices.Contains([]string{"", "http", "streamable-http", "streamableHttp", "streamable_http"}, kind):
		f.Skipped = "its transport is not supported"
	}
	if entry.Command != "" && entry.URL != "" {
		entry.URL, entry.Type = "", ""
		f.Notes = append(f.Notes, "its address is ignored because it also has a command")
	}
	if entry.Command != "" {
		entry.Headers = nil
	} else {
		entry.Args, entry.Env, entry.Cwd = nil, nil, ""
	}
	var why string
	entry.EnvFile, why = c.envFile(e.EnvFile, entry.Command, h)
	f.Ignored = ignored(v)
	if why != "" {
		f.Notes = append(f.Notes, "its envFile is ignored because "+why)
	}
	if entry.Timeout != "" && entry.Timeout != scalar(e.Timeout) {
		f.Notes = append(f.Notes, "its timeout "+scalar(e.Timeout)+" is read as "+entry.Timeout)
	}
	if len(e.OAuth)+len(e.Auth) > 0 {
		f.Notes = append(f.Notes, "its login settings are not imported")
	}
	f.Entry = entry
	return f
}

// envFile returns the path of an entry's envFile for the gateway. If the file cannot be used, it returns "" and why.
// An envFile that only the client can resolve does not mark the server as Skipped.
func (c Client) envFile(text, program string, h Host) (path, why string) {
	var aside Found
	path = (&translator{dialect: c.vars, host: h, found: &aside}).text(text)
	switch {
	case path == "":
		return "", ""
	case program == "":
		return "", "the server has an address and no command; set the variables of its headers where the gateway starts, or in the configuration's envFile"
	case aside.Skipped != "":
		return "", aside.Skipped + "; write the full path"
	case filepath.IsAbs(path), strings.HasPrefix(path, "${HOME}"), strings.HasPrefix(path, "~"):
		return path, ""
	}
	return "", "its path is relative; write the full path"
}

// initHeaders returns the headers of requestInit that are not in headers.
func (e *entryFile) initHeaders() map[string]json.RawMessage {
	more := map[string]json.RawMessage{}
	for name, value := range e.RequestInit.Headers {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(e.Headers)), func(own string) bool { return strings.EqualFold(own, name) }) {
			more[name] = value
		}
	}
	return more
}

// correct replaces a command line that cannot work on this host with one that does, and adds a note.
func (t *translator) correct(e *config.Entry) {
	isProgram := t.host.IsProgram
	if isProgram == nil {
		isProgram = func(string) bool { return false }
	}
	fixed, why, wrong := config.Corrected(t.host.OS, config.CommandLine{Command: e.Command, Args: e.Args}, isProgram)
	if wrong {
		e.Command, e.Args = fixed.Command, fixed.Args
		t.note(why + ": imported as " + clip(fixed.Command) + " with its arguments")
	}
}

// flatten converts the command object of older versions of Zed.
func (e *entryFile) flatten() {
	if len(e.Command) == 0 || e.Command[0] != '{' {
		return
	}
	var inner struct {
		Path string
		Args []json.RawMessage
		Env  map[string]json.RawMessage
	}
	if json.Unmarshal(e.Command, &inner) != nil {
		e.Command = nil
		return
	}
	e.Args, e.Env = inner.Args, inner.Env
	e.Command = json.RawMessage(hujson.String(inner.Path))
}

// timeoutOf converts a client's timeout to a duration. It returns "" if there is none or if it is not valid.
func timeoutOf(written string) string {
	if d, err := time.ParseDuration(written); err == nil && d > 0 {
		return written
	}
	return config.ForeignTimeout(written)
}

// ignored returns the keys of an entry that have no meaning for the gateway.
func ignored(v hujson.Value) []string {
	entry, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var keys []string
	for _, m := range entry.Members {
		if name, _ := m.Name.Value.(hujson.Literal); !slices.ContainsFunc(readKeys, func(known string) bool { return strings.EqualFold(known, name.String()) }) {
			keys = append(keys, clip(name.String()))
		}
	}
	return keys
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// scalar returns a value as a string. Some clients write numbers instead of strings.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// order returns the keys of an object in an entry, in file order.
func order(v hujson.Value, key string) []string {
	found, err := member(v, key)
	if err != nil || found == nil {
		return nil
	}
	inner, ok := found.Value.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var keys []string
	for _, m := range inner.Members {
		if name, _ := m.Name.Value.(hujson.Literal); !slices.Contains(keys, name.String()) {
			keys = append(keys, name.String())
		}
	}
	return keys
}
