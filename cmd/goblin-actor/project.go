package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/namespace"
)

// projectFlag adds the flag that says which project a client is in.
func projectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "what this project shows, and nothing else (default: everything)")
}

// checkProject says what is wrong with the flag's value, before anybody is asked.
func checkProject(cmd *cobra.Command, project string) error {
	switch {
	case !cmd.Flags().Changed("project"):
		return nil
	case project == "":
		return usageError("leave --project out to see everything", "--project is empty")
	case !namespace.IsSlug(project):
		return usageError("projects are named with lower-case letters, digits and -", "--project %q is no name of a project", project)
	}
	return nil
}

// inProject says that the configuration has no such project; nil when it has, or none is meant.
func inProject(cfg *config.Config, project string) error {
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
	return usageError(hint, "--project %q: there is no such project", project)
}
