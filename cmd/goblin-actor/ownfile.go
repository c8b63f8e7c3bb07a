package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
)

const configFlagHelp = "configuration file (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)"

// openOwn opens the configuration that the flag or the search order names. With create one that is not there is begun:
// ./goblin.yaml, unless another is named.
func openOwn(flag string, create bool) (*config.File, error) {
	path, ok := config.Find(flag, os.Getenv)
	if !ok {
		path = "goblin.yaml"
	}
	f, err := config.OpenFile(path, config.MaxFileBytes)
	if err != nil {
		return nil, fileError(err)
	}
	if f.Exists() {
		return f, nil
	}
	if !create {
		err := fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		if !ok {
			err = errors.New("no configuration found")
		}
		return nil, &exitError{exitFailed, err, "--config or $GOBLIN_CONFIG names the file; goblin-actor add begins one"}
	}
	f.Text = "# yaml-language-server: $schema=" + config.SchemaFile + "\n"
	if strings.EqualFold(filepath.Ext(path), ".json") {
		f.Text = "{\n  \"$schema\": \"./" + config.SchemaFile + "\"\n}\n"
	}
	return f, nil
}

// writeOwn writes the configuration and says what comes of it.
func writeOwn(cmd *cobra.Command, f *config.File, text string) error {
	if err := saveOwn(cmd, f, text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; a gateway that runs with it reloads it by itself\n", clean(f.Path))
	return err
}

// saveOwn writes the configuration, and a schema beside one that is begun.
func saveOwn(cmd *cobra.Command, f *config.File, text string) error {
	defer holdBack()()
	begun := !f.Exists()
	if _, err := f.Replace(text, false); err != nil {
		return fileError(err)
	}
	errOut := cmd.ErrOrStderr()
	if begun {
		schema := filepath.Join(filepath.Dir(f.Path), config.SchemaFile)
		if _, err := os.Lstat(schema); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(schema, config.Schema(), 0o644); err != nil {
				fmt.Fprintf(errOut, "%s no schema for editors: %s\n", paletteFor(errOut).warn("warning:"), clean(err.Error()))
			}
		}
	}
	return nil
}

// changeOwn writes the configuration, says so and what was done, and then what the running gateway makes of it.
func changeOwn(cmd *cobra.Command, f *config.File, text, done string, a *applying, w wish) error {
	if err := saveOwn(cmd, f, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", clean(done), clean(f.Path)); err != nil {
		return err
	}
	return a.follow(cmd, f.Path, w)
}

// fileError gives an error of a file its hint.
func fileError(err error) error {
	if e, ok := errors.AsType[*config.FileError](err); ok {
		return &exitError{exitFailed, e, e.Hint}
	}
	return err
}

// editError is why an edit of our file was refused. Findings are told here.
func editError(cmd *cobra.Command, f *config.File, err error) error {
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
		tellFindings(cmd.ErrOrStderr(), invalid.Report)
		if invalid.After {
			return &exitError{exitUsage, fmt.Errorf("%s would be invalid with that: nothing was written", f.Path), ""}
		}
		return &exitError{exitConfig, fmt.Errorf("%s has to be mended first: nothing was written", f.Path), ""}
	}
	hint := ""
	switch {
	case errors.Is(err, config.ErrByHand):
		hint = "anchors, aliases, merge keys and ? keys are left to you; goblin-actor config check finds mistakes"
	case errors.Is(err, config.ErrNoServer):
		hint = "it has " + listed(config.Names(f.Text))
	}
	return &exitError{exitFailed, fmt.Errorf("%s: %w", f.Path, err), hint}
}

// listed writes names in one line, not too many of them.
func listed(names []string) string {
	const most = 20
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > most:
		return oneLine(strings.Join(names[:most], ", "), 0) + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return oneLine(strings.Join(names, ", "), 0)
}
