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

// Open opens the configuration that the flag or the search order names. With create one that is not there is begun:
// ./goblin.yaml, unless another is named.
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
		return nil, command.Fail(command.ExitFailed, err, "--config or $GOBLIN_CONFIG names the file; goblin-actor add begins one")
	}
	f.Text = "# yaml-language-server: $schema=" + config.SchemaFile + "\n"
	if strings.EqualFold(filepath.Ext(path), ".json") {
		f.Text = "{\n  \"$schema\": \"./" + config.SchemaFile + "\"\n}\n"
	}
	return f, nil
}

// Write writes the configuration and says what comes of it.
func Write(cmd *cobra.Command, f *config.File, text string) error {
	if err := Save(cmd, f, text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; a gateway that runs with it reloads it by itself\n", terminal.Clean(f.Path))
	return err
}

// Save writes the configuration, and a schema beside one that is begun.
func Save(cmd *cobra.Command, f *config.File, text string) error {
	defer HoldSignals()()
	begun := !f.Exists()
	if _, err := f.Replace(text, false); err != nil {
		return FileError(err)
	}
	errOut := cmd.ErrOrStderr()
	if begun {
		schema := filepath.Join(filepath.Dir(f.Path), config.SchemaFile)
		if _, err := os.Lstat(schema); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(schema, config.Schema(), 0o644); err != nil {
				fmt.Fprintf(errOut, "%s no schema for editors: %s\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(err.Error()))
			}
		}
	}
	return nil
}

// FileError gives an error of a file its hint.
func FileError(err error) error {
	if e, ok := errors.AsType[*config.FileError](err); ok {
		return command.Fail(command.ExitFailed, e, e.Hint)
	}
	return err
}

// EditError is why an edit of our file was refused. Findings are told here.
func EditError(cmd *cobra.Command, f *config.File, err error) error {
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
		PrintFindings(cmd.ErrOrStderr(), invalid.Report)
		if invalid.After {
			return command.Fail(command.ExitUsage, fmt.Errorf("%s would be invalid with that: nothing was written", f.Path), "")
		}
		return command.Fail(command.ExitConfig, fmt.Errorf("%s has to be mended first: nothing was written", f.Path), "")
	}
	hint := ""
	switch {
	case errors.Is(err, config.ErrByHand):
		hint = "anchors, aliases, merge keys and ? keys are left to you; goblin-actor config check finds mistakes"
	case errors.Is(err, config.ErrNoServer):
		hint = "it has " + terminal.Names(config.Names(f.Text))
	}
	return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), hint)
}
