package configfile

import (
	"fmt"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/config"
)

// CheckProject says that the configuration has no such project; nil when it has, or none is meant.
func CheckProject(cfg *config.Config, project string) error {
	names, found := cfg.Project(project)
	if project == "" || found {
		return nil
	}
	hint := "projects are written under projects: in the configuration"
	if near := config.Nearest(project, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		hint = "there are " + strings.Join(names, ", ")
	}
	return command.UsageError(hint, "--project %q: there is no such project", project)
}
