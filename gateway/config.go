package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
)

// Config configures a gateway. The zero Config is a gateway without servers.
type Config struct {
	// File is the path of a configuration file for "goblin-actor serve", or "". It is read once; later changes have no
	// effect. Settings of listeners are ignored. Its policy treats this program as a client without authentication.
	File string
	// YAML is the content of a configuration file, as an alternative to File. Without either, all settings have their
	// defaults, except that there are no meta tools.
	YAML []byte
	// Servers holds further servers by name ([a-z0-9][a-z0-9-]*). They follow those of File or YAML, sorted by name.
	Servers map[string]Server
	// Project names a project of File or YAML that limits what this program can list, call and read; "" means no limit.
	// Changes always covers the whole catalog.
	Project string
	// Questions answers the requests that servers send to this program during its calls. If it is nil, these requests are
	// refused. A call with CallOptions.Questions uses those instead.
	Questions *Questions
	// StateFile is the path of a file in which the gateway stores the servers' catalogs and protocol eras, logins at
	// servers, and the key that seals the state of parked calls. If it is "", this data is lost when the gateway stops.
	StateFile string
	// Log receives the gateway's log messages. It may be nil.
	Log *slog.Logger
	// Name and Version identify this program as an MCP client. Servers of version 2026-07-28 see them; older servers
	// see the gateway's own identity. The defaults are goblin-actor and devel.
	Name, Version string
}

// Server describes an MCP server: a command that uses stdin and stdout, a URL, or a function of this program. Unlike in a
// file, ${NAME} is not expanded, except in Settings.
type Server struct {
	Command string            // program to run
	Args    []string          // arguments
	Env     map[string]string // environment variables in addition to those inherited: PATH, HOME, USER, LANG, TERM and TMPDIR
	Dir     string            // working directory; "" = that of this program

	URL     string            // address of a server reached over HTTP, instead of Command
	Headers map[string]string // sent with every request, except those that the protocol sets itself, such as Accept

	// Connect serves a server in this process. Packages gateway/mcpgo and gateway/gosdk return such functions for
	// servers of these libraries. The gateway calls Connect on a separate goroutine for every connection. After a
	// connection has ended, it calls Connect again, with the delays of the setting "reconnect". With the setting
	// "isolation", Connect may run several times at once.
	//
	// When c.Read returns io.EOF, Connect must return. ctx ends a moment later, and Connect must have returned within two
	// seconds after that. If Connect returns earlier or panics, the calls of this connection fail. Connect must not call
	// methods of the Gateway that add, remove or wait for servers.
	Connect func(ctx context.Context, c Conn) error

	// Settings holds other settings of an entry of mcpServers, as in a file (docs/config.md): "timeout": "1m",
	// "replicas": 2.
	Settings map[string]any
}

// parse returns the internal configuration.
func (c Config) parse(functions *functions, known *secret.Redactor, log *slog.Logger) (*config.Config, error) {
	cfg := new(config.Default())
	cfg.MetaTools = "false" // meta tools are for models; a program uses the methods
	var report config.Report
	switch {
	case c.File != "" && c.YAML != nil:
		return nil, errors.New("gateway: Config has both File and YAML; set one of them")
	case c.File != "":
		cfg, report = config.Load(c.File)
	case c.YAML != nil:
		cfg, report = config.Parse("Config.YAML", c.YAML, os.LookupEnv)
	}
	if err := logReport(report, log); err != nil {
		return nil, err
	}
	known.Replace("configuration", cfg.Secrets...)
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		next, err := functions.with(cfg, name, c.Servers[name], known, log)
		if err != nil {
			return nil, err
		}
		cfg = next
	}
	return cfg, nil
}

// logReport logs a report's warnings and returns its errors.
func logReport(report config.Report, log *slog.Logger) error {
	for _, w := range report.Warnings {
		log.Warn("configuration", "warning", w.Error())
	}
	if err := report.Err(); err != nil {
		return fmt.Errorf("gateway: configuration: %w", err)
	}
	return nil
}

// with returns a copy of cfg with one more server, and adds the server's secrets to known.
func with(cfg *config.Config, name string, s Server, known *secret.Redactor, log *slog.Logger) (*config.Config, error) {
	if name != config.Slug(name) {
		return nil, fmt.Errorf("gateway: server name %q: the name must match [a-z0-9][a-z0-9-]*, for example %q", name, config.Slug(name))
	}
	if err := s.check(name); err != nil {
		return nil, err
	}
	order := 0
	for _, known := range cfg.Servers {
		if known.Name == name || known.Group == name {
			return nil, fmt.Errorf("gateway: a server or group named %q already exists", name)
		}
		order = max(order, known.Order+1)
	}
	entry, err := json.Marshal(map[string]any{name: s.entry(name)})
	if err != nil {
		return nil, fmt.Errorf("gateway: server %q: %w", name, err)
	}
	// The text is YAML, because config.Parse treats JSON as the configuration of another program, in which strings have a
	// different meaning.
	one, report := config.Parse("Config.Servers", append([]byte("mcpServers: "), entry...), os.LookupEnv)
	if err := logReport(report, log); err != nil {
		return nil, err
	}
	server := one.Servers[0]
	server.Order = order
	if server.Group != "" && slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server.Group && s.Group != server.Group }) {
		return nil, fmt.Errorf("gateway: server %q: its group %q has the name of another server", name, server.Group)
	}
	known.Replace(secretsOf(name), one.Secrets...)
	next := *cfg
	next.Servers = append(slices.Clone(cfg.Servers), server)
	return &next, nil
}

// secretsOf returns the group of a Redactor that has the secrets of the server that the program has added.
func secretsOf(name string) string { return "server " + name }

// without returns a copy of cfg without one server, and the namespace that disappears with the server. The namespace is "" if
// other members of the server's group remain.
func without(cfg *config.Config, name string) (*config.Config, string, error) {
	i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == name })
	if i < 0 {
		return nil, "", fmt.Errorf("gateway: no server is named %q", name)
	}
	group := cfg.Servers[i].Group
	next := *cfg
	next.Servers = slices.Delete(slices.Clone(cfg.Servers), i, i+1)
	if group != "" && slices.ContainsFunc(next.Servers, func(s config.Server) bool { return s.Group == group }) {
		return &next, "", nil
	}
	return &next, cmp.Or(group, name), nil
}

// check returns an error if fields contradict each other.
func (s Server) check(name string) error {
	given := func(there ...bool) (n int) {
		for _, t := range there {
			if t {
				n++
			}
		}
		return n
	}
	kinds := map[string]bool{"Command": s.Command != "", "URL": s.URL != "", "Connect": s.Connect != nil}
	if given(slices.Collect(maps.Values(kinds))...) > 1 {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(kind string) bool { return !kinds[kind] })
		return fmt.Errorf("gateway: server %q has %s; set only one of them", name, strings.Join(names, " and "))
	}
	if s.Connect != nil && (len(s.Args)+len(s.Env)+len(s.Headers) > 0 || s.Dir != "") {
		return fmt.Errorf("gateway: server %q has Connect; remove Args, Env, Dir and Headers", name)
	}
	return nil
}

// entry returns the server as an entry of mcpServers.
func (s Server) entry(name string) map[string]any {
	entry := map[string]any{}
	maps.Copy(entry, s.Settings)
	set := func(key string, value any, there bool) {
		if there {
			entry[key] = value
		}
	}
	args := make([]string, len(s.Args))
	for i, arg := range s.Args {
		args[i] = literal(arg)
	}
	set("command", literal(s.Command), s.Command != "")
	set("command", literal("embedded:"+name), s.Connect != nil) // a name for the state file and the status; it is never run
	set("args", args, len(args) > 0)
	set("env", literals(s.Env), len(s.Env) > 0)
	set("cwd", literal(s.Dir), s.Dir != "")
	set("url", literal(s.URL), s.URL != "")
	set("headers", literals(s.Headers), len(s.Headers) > 0)
	return entry
}

// literal escapes a string so that no variable in it is expanded.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func literals(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key] = literal(value)
	}
	return out
}
