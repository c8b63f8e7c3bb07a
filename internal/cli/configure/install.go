package configure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
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
		Args:      command.Args(1, 1, "the name of a client: "+strings.Join(desktop.IDs(), ", ")),
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
		return client, command.UsageError("clients are "+strings.Join(desktop.IDs(), ", "), "unknown client %q", id)
	}
	return client, nil
}

func install(cmd *cobra.Command, id string, o installOptions) error {
	client, err := clientNamed(id)
	if err != nil {
		return err
	}
	if o.name == "" || config.Slug(o.name) != o.name {
		return command.UsageError("names are lower-case letters, digits and -", "--name %q", o.name)
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
			return command.Fail(command.ExitFailed, fmt.Errorf("%s: no directory for %s: %w", client.Title, path, err),
				"start it once, or name its file with --file; --print prints the entry")
		}
	}
	f, err := config.OpenFile(path, desktop.MaxFileBytes)
	if err != nil {
		return configfile.FileError(err)
	}
	text, err := client.Install(f.Text, o.name, ours)
	switch {
	case errors.Is(err, desktop.ErrSame):
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has this entry already: %s\n", client.Title, terminal.Clean(path))
		return err
	case err != nil:
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", path, err), "it was left alone; mend it, or change it by hand with what --print prints")
	}
	if err := f.CheckWritable(); err != nil {
		return configfile.FileError(err)
	}
	showDiff(cmd, path, client.Diff(f.Text, text, o.name))
	if err := confirm(cmd, o.yes); err != nil {
		return err
	}
	release := configfile.HoldSignals()
	backup, err := f.Replace(text, true)
	release()
	if err != nil {
		return configfile.FileError(err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "wrote %s\n", terminal.Clean(path))
	if backup != "" {
		fmt.Fprintf(out, "the old file is %s\n", terminal.Clean(backup))
	}
	_, err = fmt.Fprintf(out, "to do: %s\n", client.After)
	return err
}

// ourEntry is what the client shall start or reach.
func ourEntry(cmd *cobra.Command, client desktop.Client, o installOptions) (desktop.Ours, error) {
	if o.url != "" {
		if o.config != "" {
			return desktop.Ours{}, command.UsageError("", "--url and --config exclude each other")
		}
		return entryOf(cmd, client, "", o.url)
	}
	path, ok := config.Find(o.config, os.Getenv)
	if !ok {
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found: the client gets the demo servers until the user's config directory holds one, or you install again with --config")
		return entryOf(cmd, client, "", "")
	}
	if cfg, report := config.Load(path); cfg == nil {
		configfile.PrintFindings(cmd.ErrOrStderr(), report)
		return desktop.Ours{}, command.Fail(command.ExitConfig, errors.New("the client could not use this configuration: nothing was written"), "")
	}
	return entryOf(cmd, client, path, "")
}

// entryOf is the entry for a configuration, or for the gateway at url; without both for what stdio finds.
func entryOf(cmd *cobra.Command, client desktop.Client, path, url string) (desktop.Ours, error) {
	if url != "" && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return desktop.Ours{}, command.UsageError("write http://127.0.0.1:8730/mcp, or what serve printed", "--url %q is no http address", secret.Text(url))
	}
	if url != "" && client.TakesURL() {
		return desktop.Ours{URL: url}, nil
	}
	self, err := program.Path()
	if err != nil {
		return desktop.Ours{}, err
	}
	if strings.Contains(self, "go-build") {
		errOut := cmd.ErrOrStderr()
		fmt.Fprintf(errOut, "%s %s is a temporary build and will be gone; build or install goblin-actor first\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(self))
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

// showDiff prints what will change.
func showDiff(cmd *cobra.Command, path string, lines []string) {
	out := cmd.OutOrStdout()
	p := terminal.PaletteFor(out)
	fmt.Fprintln(out, p.Bold(terminal.Clean(path)))
	for _, line := range lines {
		line = terminal.Clean(line)
		switch {
		case strings.HasPrefix(line, "+"):
			line = p.Good(line)
		case strings.HasPrefix(line, "-"):
			line = p.Bad(line)
		}
		fmt.Fprintln(out, line)
	}
}

// confirm asks at the terminal, unless it is said to be all right.
func confirm(cmd *cobra.Command, yes bool) error {
	if yes {
		return nil
	}
	if !terminal.IsTerminal(cmd.InOrStdin()) {
		hint := "--yes writes without asking"
		if cmd.Flags().Lookup("print") != nil {
			hint += ", --print prints the entry"
		}
		return command.UsageError(hint, "nothing was written: there is no terminal to ask at")
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	word, err := terminal.NewDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).Choose(ctx, "Write this? [N]o, [y]es: ", "n", "no", "y", "yes")
	if err == nil && word[0] == 'y' {
		return nil
	}
	if ctx.Err() != nil {
		return command.ErrInterrupted
	}
	return command.Fail(command.ExitFailed, errors.New("nothing was written"), "")
}
