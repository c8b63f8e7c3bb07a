package configure

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/rollout"
)

// afterFailedAdd keeps or removes the entry of a server that failed to start, and returns the error to report. --keep
// decides, otherwise the user at the terminal. Without a terminal the entry is kept.
func afterFailedAdd(cmd *cobra.Command, path, name string, failure error) error {
	keep, err := keepsEntry(cmd, path, failure)
	if err != nil {
		return err
	}
	result := &command.Error{Code: command.ExitFailed, Err: failure}
	if e, ok := errors.AsType[*command.Error](failure); ok {
		result.Code, result.Hint = e.Code, e.Hint
	}
	if keep {
		result.Err = fmt.Errorf("%w; the entry was kept in %s", failure, path)
		if result.Hint != "" {
			result.Hint += "; "
		}
		result.Hint += "run goblin-actor remove " + name + " to remove the entry"
		return result
	}
	f, err := configfile.Open(path, false)
	if err != nil {
		return err
	}
	text, err := config.RemoveServer(f.Path, f.Text, name)
	if err != nil {
		return configfile.EditError(cmd, f, err)
	}
	if err := (&rolloutFlags{}).save(cmd, f, text, "removed "+name+" from", rollout.Change{Server: name}); err != nil {
		return err
	}
	result.Err = fmt.Errorf("%w; the entry was removed from %s", failure, path)
	result.Hint = "to keep the entry, add the server again with --keep; then run goblin-actor doctor " + name + " to find the cause"
	return result
}

// keepsEntry reports whether to keep the entry.
func keepsEntry(cmd *cobra.Command, path string, failure error) (bool, error) {
	if flag := cmd.Flags().Lookup("keep"); flag.Changed {
		return flag.Value.String() == "true", nil
	}
	if !terminal.IsTerminal(cmd.InOrStdin()) {
		return true, nil
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", terminal.Clean(failure.Error()))
	word, err := terminal.NewDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).Choose(ctx, "Keep the entry in "+terminal.Clean(path)+"? [Y]es, [n]o: ", "y", "yes", "n", "no")
	if ctx.Err() != nil {
		return true, command.ErrInterrupted
	}
	return err != nil || word[0] == 'y', nil
}
