package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
	"goblin-actor/internal/desktop"
	"goblin-actor/internal/secret"
)

type installOptions struct {
	name, config, url, file string
	yes, print              bool
}

// newConfigInstall returns the command that writes our entry into another program's file.
func newConfigInstall() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Write our entry into a desktop client's file",
		Long: `Write our entry into the file of a client: ` + strings.Join(desktop.IDs(), ", ") + `.
The client then starts "goblin-actor stdio --config FILE", or with --url uses a running gateway.

What will change is shown, and has to be confirmed on the terminal or with --yes; what other entries say is hidden.
The old file is kept beside the new one. Comments and everything else in it stay; a file that cannot be parsed, or
that changes meanwhile, is left alone.`,
		Example: `  goblin-actor config install claude-desktop
  goblin-actor config install vscode --url http://127.0.0.1:8730/mcp
  goblin-actor config install cursor --file .cursor/mcp.json
  goblin-actor config install zed --print`,
		Args:      takes(1, 1, "the name of a client: "+strings.Join(desktop.IDs(), ", ")),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return install(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "goblin", "name of the entry")
	flags.StringVar(&o.config, "config", "", "configuration the client shall use (default: as serve finds it)")
	flags.StringVar(&o.url, "url", "", "use the gateway that runs at this URL instead of starting one")
	flags.StringVar(&o.file, "file", "", "the client's file, where it is not in its usual place")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.print, "print", false, "only print the entry, for changing the file by hand")
	return cmd
}

// clientNamed finds a client, or says which there are.
func clientNamed(id string) (desktop.Client, error) {
	client, ok := desktop.ByID(id)
	if !ok {
		return client, usageError("clients are "+strings.Join(desktop.IDs(), ", "), "unknown client %q", id)
	}
	return client, nil
}

func install(cmd *cobra.Command, id string, o installOptions) error {
	client, err := clientNamed(id)
	if err != nil {
		return err
	}
	if o.name == "" || config.Slug(o.name) != o.name {
		return usageError("names are lower-case letters, digits and -", "--name %q", o.name)
	}
	ours, err := ourEntry(cmd, client, o)
	if err != nil {
		return err
	}
	if o.print {
		_, err := fmt.Fprint(cmd.OutOrStdout(), client.Snippet(o.name, ours))
		return err
	}
	path := o.file
	if path == "" {
		if path, err = client.Find(desktop.ThisHost()); err != nil {
			return &exitError{exitFailed, fmt.Errorf("%s: no directory for %s: %w", client.Title, path, err),
				"start it once, or name its file with --file; --print prints the entry"}
		}
	}
	f, err := config.OpenFile(path, desktop.MaxFileBytes)
	if err != nil {
		return fileError(err)
	}
	text, err := client.Install(f.Text, o.name, ours)
	switch {
	case errors.Is(err, desktop.ErrSame):
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has this entry already: %s\n", client.Title, clean(path))
		return err
	case err != nil:
		return &exitError{exitFailed, fmt.Errorf("%s: %w", path, err), "it was left alone; mend it, or change it by hand with what --print prints"}
	}
	if err := f.CheckWritable(); err != nil {
		return fileError(err)
	}
	showDiff(cmd, path, client.Diff(f.Text, text, o.name))
	if err := confirm(cmd, o.yes); err != nil {
		return err
	}
	release := holdBack()
	backup, err := f.Replace(text, true)
	release()
	if err != nil {
		return fileError(err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "wrote %s\n", clean(path))
	if backup != "" {
		fmt.Fprintf(out, "the old file is %s\n", clean(backup))
	}
	_, err = fmt.Fprintf(out, "to do: %s\n", client.After)
	return err
}

// ourEntry is what the client shall start or reach.
func ourEntry(cmd *cobra.Command, client desktop.Client, o installOptions) (desktop.Ours, error) {
	if o.url != "" {
		if o.config != "" {
			return desktop.Ours{}, usageError("", "--url and --config exclude each other")
		}
		return entryOf(cmd, client, "", o.url)
	}
	path, ok := config.Find(o.config, os.Getenv)
	if !ok {
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found: the client gets the demo servers until the user's config directory holds one, or you install again with --config")
		return entryOf(cmd, client, "", "")
	}
	if cfg, report := config.Load(path); cfg == nil {
		tellFindings(cmd.ErrOrStderr(), report)
		return desktop.Ours{}, &exitError{exitConfig, errors.New("the client could not use this configuration: nothing was written"), ""}
	}
	return entryOf(cmd, client, path, "")
}

// entryOf is the entry for a configuration, or for the gateway at url; without both for what stdio finds.
func entryOf(cmd *cobra.Command, client desktop.Client, path, url string) (desktop.Ours, error) {
	if url != "" && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return desktop.Ours{}, usageError("write http://127.0.0.1:8730/mcp, or what serve printed", "--url %q is no http address", secret.Text(url))
	}
	if url != "" && client.TakesURL() {
		return desktop.Ours{URL: url}, nil
	}
	self, err := selfPath()
	if err != nil {
		return desktop.Ours{}, err
	}
	if strings.Contains(self, "go-build") {
		errOut := cmd.ErrOrStderr()
		fmt.Fprintf(errOut, "%s %s is a temporary build and will be gone; build or install goblin-actor first\n", paletteFor(errOut).warn("warning:"), clean(self))
	}
	ours := desktop.Ours{Command: self, Args: []string{"stdio"}}
	switch {
	case url != "":
		ours.Args = append(ours.Args, "--connect", url)
	case path != "":
		if path, err = filepath.Abs(path); err != nil {
			return desktop.Ours{}, err
		}
		ours.Args = append(ours.Args, "--config", path)
	}
	return ours, nil
}

// selfPath is this program as the user runs it: a link that an update moves stays a link.
func selfPath() (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil {
		if called, err = filepath.Abs(called); err == nil && sameFile(called, executable) {
			return called, nil
		}
	}
	return executable, nil
}

func sameFile(a, b string) bool {
	first, errA := os.Stat(a)
	second, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(first, second)
}

// showDiff prints what will change.
func showDiff(cmd *cobra.Command, path string, lines []string) {
	out := cmd.OutOrStdout()
	p := paletteFor(out)
	fmt.Fprintln(out, p.head(clean(path)))
	for _, line := range lines {
		line = clean(line)
		switch {
		case strings.HasPrefix(line, "+"):
			line = p.good(line)
		case strings.HasPrefix(line, "-"):
			line = p.bad(line)
		}
		fmt.Fprintln(out, line)
	}
}

// confirm asks at the terminal, unless it is said to be all right.
func confirm(cmd *cobra.Command, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(cmd.InOrStdin()) {
		hint := "--yes writes without asking"
		if cmd.Flags().Lookup("print") != nil {
			hint += ", --print prints the entry"
		}
		return usageError(hint, "nothing was written: there is no terminal to ask at")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	word, err := newDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).choose(ctx, "Write this? [N]o, [y]es: ", "n", "no", "y", "yes")
	if err == nil && word[0] == 'y' {
		return nil
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return &exitError{exitFailed, errors.New("nothing was written"), ""}
}
