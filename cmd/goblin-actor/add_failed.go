package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
)

// afterFailedAdd decides whether the entry of a server that did not start stays in the file, and returns the error to report: --keep decides,
// else the person at the terminal, and without a terminal the entry stays.
func afterFailedAdd(cmd *cobra.Command, path, name string, failure error) error {
	keep, err := keepsEntry(cmd, path, failure)
	if err != nil {
		return err
	}
	told := &exitError{code: exitFailed, err: failure}
	if e, ok := errors.AsType[*exitError](failure); ok {
		told.code, told.hint = e.code, e.hint
	}
	if keep {
		told.err = fmt.Errorf("%w; its entry stays in %s", failure, path)
		told.hint += "; goblin-actor remove " + name + " takes the entry out"
		return told
	}
	f, err := openOwn(path, false)
	if err != nil {
		return err
	}
	text, err := config.RemoveServer(f.Path, f.Text, name)
	if err != nil {
		return editError(cmd, f, err)
	}
	if err := changeOwn(cmd, f, text, "removed "+name+" from", &applying{wait: 0}, wish{server: name}); err != nil {
		return err
	}
	told.err = fmt.Errorf("%w; its entry was removed from %s again", failure, path)
	told.hint = "--keep keeps the entry; goblin-actor doctor " + name + " explains the failure then"
	return told
}

func keepsEntry(cmd *cobra.Command, path string, failure error) (bool, error) {
	if flag := cmd.Flags().Lookup("keep"); flag.Changed {
		return flag.Value.String() == "true", nil
	}
	if !isTerminal(cmd.InOrStdin()) {
		return true, nil
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", clean(failure.Error()))
	word, err := newDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).choose(ctx, "Keep its entry in "+clean(path)+"? [Y]es, [n]o: ", "y", "yes", "n", "no")
	if ctx.Err() != nil {
		return true, errInterrupted
	}
	return err != nil || word[0] == 'y', nil
}
