package configure

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
)

// afterFailedAdd decides whether the entry of a server that did not start stays in the file, and returns the error to report: --keep decides,
// else the person at the terminal, and without a terminal the entry stays.
func afterFailedAdd(cmd *cobra.Command, path, name string, failure error) error {
	keep, err := keepsEntry(cmd, path, failure)
	if err != nil {
		return err
	}
	told := &command.Error{Code: command.ExitFailed, Err: failure}
	if e, ok := errors.AsType[*command.Error](failure); ok {
		told.Code, told.Hint = e.Code, e.Hint
	}
	if keep {
		told.Err = fmt.Errorf("%w; its entry stays in %s", failure, path)
		told.Hint += "; goblin-actor remove " + name + " takes the entry out"
		return told
	}
	f, err := configfile.Open(path, false)
	if err != nil {
		return err
	}
	text, err := config.RemoveServer(f.Path, f.Text, name)
	if err != nil {
		return configfile.EditError(cmd, f, err)
	}
	if err := changeOwn(cmd, f, text, "removed "+name+" from", &applying{wait: 0}, wish{server: name}); err != nil {
		return err
	}
	told.Err = fmt.Errorf("%w; its entry was removed from %s again", failure, path)
	told.Hint = "--keep keeps the entry; goblin-actor doctor " + name + " explains the failure then"
	return told
}

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
	word, err := terminal.NewDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).Choose(ctx, "Keep its entry in "+terminal.Clean(path)+"? [Y]es, [n]o: ", "y", "yes", "n", "no")
	if ctx.Err() != nil {
		return true, command.ErrInterrupted
	}
	return err != nil || word[0] == 'y', nil
}
