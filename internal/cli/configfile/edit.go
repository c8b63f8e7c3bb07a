package configfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
)

// Open opens the configuration file that flag names, or the one that config.Find finds. If create is set, a missing
// file is not an error: Open then returns a new file, by default ./goblin.yaml.
func Open(flag string, create bool) (*config.File, error) {
	path, ok := config.Find(flag, os.Getenv)
	if !ok {
		path = "goblin.yaml"
	}
	f, err := config.OpenFile(path, config.MaxFileBytes)
	if err != nil {
		return nil, FileError(err)
	}
	if f.Exists() {
		return f, nil
	}
	if !create {
		err := fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		if !ok {
			err = errors.New("no configuration found")
		}
		return nil, command.Fail(command.ExitFailed, err, "specify a file with --config or $GOBLIN_CONFIG, or create one with goblin-actor add")
	}
	f.Text = "# yaml-language-server: $schema=" + config.SchemaFile + "\n"
	if strings.EqualFold(filepath.Ext(path), ".json") {
		f.Text = "{\n  \"$schema\": \"./" + config.SchemaFile + "\"\n}\n"
	}
	return f, nil
}

// Write saves text as the configuration and prints the file's path.
func Write(cmd *cobra.Command, f *config.File, text string) error {
	if err := Save(cmd, f, text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; a running gateway reloads it automatically\n", terminal.Clean(f.Path))
	return err
}

// Save saves text as the configuration. If the file is new, Save also writes the JSON Schema next to it, unless a file
// of that name exists. If writing the schema fails, Save only prints a warning.
func Save(cmd *cobra.Command, f *config.File, text string) error {
	defer HoldSignals()()
	created := !f.Exists()
	if _, err := f.Replace(text, false); err != nil {
		return FileError(err)
	}
	errOut := cmd.ErrOrStderr()
	if created {
		schema := filepath.Join(filepath.Dir(f.Path), config.SchemaFile)
		if _, err := os.Lstat(schema); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(schema, config.Schema(), 0o644); err != nil {
				fmt.Fprintf(errOut, "%s cannot write the schema for editors: %s\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(err.Error()))
			}
		}
	}
	return nil
}

// FileError returns err with the exit code and hint for the command line if it is a *config.FileError, otherwise
// unchanged.
func FileError(err error) error {
	if e, ok := errors.AsType[*config.FileError](err); ok {
		return command.Fail(command.ExitFailed, e, e.Hint)
	}
	return err
}

// EditError returns the error for a failed edit of f. If f is invalid before or after the edit, EditError prints the
// findings.
func EditError(cmd *cobra.Command, f *config.File, err error) error {
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
		PrintFindings(cmd.ErrOrStderr(), invalid.Report)
		if invalid.After {
			return command.Fail(command.ExitUsage, fmt.Errorf("the change would make %s invalid; nothing was written", f.Path), "")
		}
		return command.Fail(command.ExitConfig, fmt.Errorf("fix %s first; nothing was written", f.Path), "")
	}
	hint := ""
	switch {
	case errors.Is(err, config.ErrByHand):
		hint = "edit anchors, aliases, merge keys and ? keys by hand, then run goblin-actor config check"
	case errors.Is(err, config.ErrNoServer):
		hint = terminal.UseOneOf(config.Names(f.Text))
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), hint)
}
