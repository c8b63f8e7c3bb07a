package target

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/protocol/namespace"
)

// ProjectFlag adds the flag that says which project a client is in.
func ProjectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "what this project shows, and nothing else (default: everything)")
}

// CheckProject says what is wrong with the flag's value, before anybody is asked.
func CheckProject(cmd *cobra.Command, project string) error {
	switch {
	case !cmd.Flags().Changed("project"):
		return nil
	case project == "":
		return command.UsageError("leave --project out to see everything", "--project is empty")
	case !namespace.IsSlug(project):
		return command.UsageError("projects are named with lower-case letters, digits and -", "--project %q is no name of a project", project)
	}
	return nil
}
