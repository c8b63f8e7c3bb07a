package configfile

import (
	"fmt"
	"strings"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/config"
)

// CheckProject returns an error if the configuration does not define the project. An empty project is valid.
func CheckProject(cfg *config.Config, project string) error {
	names, found := cfg.Project(project)
	if project == "" || found {
		return nil
	}
	hint := "define the project under `projects` in the configuration"
	if near := config.Nearest(project, names); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	} else if len(names) > 0 {
		hint = "use one of: " + strings.Join(names, ", ")
	}
	return command.UsageError(hint, "--project %q: no such project", project)
}
