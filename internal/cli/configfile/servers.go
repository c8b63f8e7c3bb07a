package configfile

import (
	"fmt"
	"slices"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
)

// SelectServers removes all servers whose names are not in names. If names is empty, it changes nothing. An unknown
// name is an error.
func SelectServers(cfg *config.Config, names []string) error {
	var known []string
	for i := range cfg.Servers {
		known = append(known, cfg.Servers[i].Name)
	}
	if len(names) == 0 {
		return nil
	}
	for i, name := range names {
		names[i] = config.Slug(name)
		if !slices.Contains(known, names[i]) {
			hint := terminal.UseOneOf(known)
			if near := config.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("did you mean %s?", near)
			}
			return command.UsageError(hint, "%s has no server %q", cfg.Path, terminal.OneLine(secret.Argument(name), 64))
		}
	}
	cfg.Servers = slices.DeleteFunc(cfg.Servers, func(s config.Server) bool { return !slices.Contains(names, s.Name) })
	return nil
}
