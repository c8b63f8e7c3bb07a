package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"goblin-actor/internal/config"
)

// Config says what a gateway is to be. The zero value is one without servers.
type Config struct {
	// File is a configuration file as "goblin-actor serve" takes it; "" = none. It is read once: later changes of it count for nothing.
	// What is about listeners in it counts for nothing either; its policy counts as for whoever is not asked who he is.
	File string
	// YAML is the same as text, instead of a file. Without either everything is as by default, except that there are no meta tools.
	YAML []byte
	// Servers are there besides, by name: [a-z0-9][a-z0-9-]*, in alphabetical order after those of File or YAML.
	Servers map[string]Server
	// Project is a project of File or YAML: all that is listed, called and read here is bound to it; Changes are of the whole. "" = everything.
	Project string
	// Questions answers what servers ask outside or inside of any call; nil = every question is refused. CallOptions may have others.
	Questions *Questions
	// StateFile keeps what is learned of servers from one start to the next; "" = it is learned anew each time.
	StateFile string
	// Log takes the gateway's log; nil = nobody does.
	Log *slog.Logger
	// Name and Version are told to servers as who their client is; "" = goblin-actor.
	Name, Version string
}

// Server is an MCP server: a command that speaks on stdin and stdout, or a URL. Its texts are taken as they are: unlike in a file, ${NAME}
// means nothing.
type Server struct {
	Command string            // the program
	Args    []string          // its arguments
	Env     map[string]string // its variables, besides PATH, HOME, USER, LANG, TERM and TMPDIR
	Dir     string            // its working directory; "" = ours

	URL     string            // of a server that is reached over HTTP
	Headers map[string]string // sent with every request to it

	// Settings are all other keys of an entry of mcpServers, as a file would have them (docs/config.md): "timeout": "1m", "replicas": 2.
	Settings map[string]any
}

// parse makes the internal configuration of it.
func (c Config) parse(log *slog.Logger) (*config.Config, error) {
	cfg := new(config.Default())
	cfg.MetaTools = "false" // they are for models; a program has the methods
	var report config.Report
	switch {
	case c.File != "" && c.YAML != nil:
		return nil, errors.New("gateway: Config has a File and YAML; give one of them")
	case c.File != "":
		cfg, report = config.Load(c.File)
	case c.YAML != nil:
		cfg, report = config.Parse("Config.YAML", c.YAML, os.LookupEnv)
	}
	if err := told(report, log); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		next, err := with(cfg, name, c.Servers[name], log)
		if err != nil {
			return nil, err
		}
		cfg = next
	}
	return cfg, nil
}

// told logs a report's warnings and returns its faults.
func told(report config.Report, log *slog.Logger) error {
	for _, w := range report.Warnings {
		log.Warn("configuration", "warning", w.Error())
	}
	if err := report.Err(); err != nil {
		return fmt.Errorf("gateway: configuration: %w", err)
	}
	return nil
}

// with returns a configuration that has one server more.
func with(cfg *config.Config, name string, s Server, log *slog.Logger) (*config.Config, error) {
	if name != config.Slug(name) {
		return nil, fmt.Errorf("gateway: server name %q: want [a-z0-9][a-z0-9-]*, like %q", name, config.Slug(name))
	}
	if s.Command != "" && s.URL != "" {
		return nil, fmt.Errorf("gateway: server %q has a Command and a URL; give one of them", name)
	}
	order := 0
	for _, known := range cfg.Servers {
		if known.Name == name || known.Group == name {
			return nil, fmt.Errorf("gateway: there is a server or a group %q already", name)
		}
		order = max(order, known.Order+1)
	}
	entry, err := json.Marshal(map[string]any{name: s.entry()})
	if err != nil {
		return nil, fmt.Errorf("gateway: server %q: %w", name, err)
	}
	// YAML, since a file of JSON is taken for another program's, whose texts mean something else.
	one, report := config.Parse("Config.Servers", append([]byte("mcpServers: "), entry...), os.LookupEnv)
	if err := told(report, log); err != nil {
		return nil, err
	}
	server := one.Servers[0]
	server.Order = order
	if server.Group != "" && slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == server.Group && s.Group != server.Group }) {
		return nil, fmt.Errorf("gateway: server %q: there is a server called like its group %q", name, server.Group)
	}
	next := *cfg
	next.Servers = append(slices.Clone(cfg.Servers), server)
	return &next, nil
}

// without returns a configuration that lacks one server, and the namespace that goes with it; "" when others of its group are left.
func without(cfg *config.Config, name string) (*config.Config, string, error) {
	i := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Name == name })
	if i < 0 {
		return nil, "", fmt.Errorf("gateway: there is no server %q", name)
	}
	group := cfg.Servers[i].Group
	next := *cfg
	next.Servers = slices.Delete(slices.Clone(cfg.Servers), i, i+1)
	if group != "" && slices.ContainsFunc(next.Servers, func(s config.Server) bool { return s.Group == group }) {
		return &next, "", nil
	}
	return &next, cmp.Or(group, name), nil
}

// entry is the server as an entry of mcpServers.
func (s Server) entry() map[string]any {
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
	set("args", args, len(args) > 0)
	set("env", literals(s.Env), len(s.Env) > 0)
	set("cwd", literal(s.Dir), s.Dir != "")
	set("url", literal(s.URL), s.URL != "")
	set("headers", literals(s.Headers), len(s.Headers) > 0)
	return entry
}

// literal writes a text so that nothing in it is taken for a variable.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func literals(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key] = literal(value)
	}
	return out
}
