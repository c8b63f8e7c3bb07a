package target

import (
	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/protocol/namespace"
)

// ProjectFlag adds --project.
func ProjectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "restrict the command to this project (default: everything)")
}

// CheckProject checks the value of --project before a request is sent.
func CheckProject(cmd *cobra.Command, project string) error {
	switch {
	case !cmd.Flags().Changed("project"):
		return nil
	case project == "":
		return command.UsageError("omit --project to see everything", "--project is empty")
	case !namespace.IsSlug(project):
		return command.UsageError(`use lower-case letters and digits and, after the first character, also "-"`, "--project %q is not a project name", project)
	}
	return nil
}
