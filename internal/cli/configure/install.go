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

// newConfigInstall returns the config install command.
func newConfigInstall() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Add the gateway to a desktop client",
		Long: `Add an entry for the gateway to the file of a desktop client. CLIENT is one of: ` + strings.Join(desktop.IDs(), ", ") + `.
The client then starts "goblin-actor stdio --config FILE", or with --url connects to a running gateway.

The command shows the change and asks for confirmation, unless --yes is given. Values of other entries are hidden. The old
file is kept next to the new one. Comments and all other content are preserved. A file that cannot be parsed, or that
changes while the command runs, is not touched.`,
		Example: `  goblin-actor config install claude-desktop
  goblin-actor config install vscode --url http://127.0.0.1:8730/mcp
  goblin-actor config install cursor --file .cursor/mcp.json
  goblin-actor config install zed --print`,
		Args:      command.Args(1, 1, "a client: "+strings.Join(desktop.IDs(), ", ")),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return install(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "goblin", "name of the entry")
	flags.StringVar(&o.config, "config", "", "configuration file for the client to use (default: the file that serve would use)")
	flags.StringVar(&o.url, "url", "", "connect to the gateway at this URL instead of starting one")
	flags.StringVar(&o.file, "file", "", "the client's file, if it is not in its usual place")
	flags.BoolVar(&o.yes, "yes", false, "skip the confirmation")
	flags.BoolVar(&o.print, "print", false, "print the entry only, for editing the file by hand")
	return cmd
}

// clientNamed returns the client with the given ID. The hint of its error lists the known clients.
func clientNamed(id string) (desktop.Client, error) {
	client, ok := desktop.ByID(id)
	if !ok {
		return client, command.UsageError("use one of: "+strings.Join(desktop.IDs(), ", "), "unknown client %q", id)
	}
	return client, nil
}

// install adds the entry to the client's file, or with --print only prints it.
func install(cmd *cobra.Command, id string, o installOptions) error {
	client, err := clientNamed(id)
	if err != nil {
		return err
	}
	if o.name == "" || config.Slug(o.name) != o.name {
		return command.UsageError(`use lower-case letters and digits and, after the first character, also "-"`, "--name %q is not valid", o.name)
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
				"start the client once, or specify its file with --file; to see the entry, use --print")
		}
	}
	f, err := config.OpenFile(path, desktop.MaxFileBytes)
	if err != nil {
		return configfile.FileError(err)
	}
	text, err := client.Install(f.Text, o.name, ours)
	switch {
	case errors.Is(err, desktop.ErrSame):
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s already has this entry in %s\n", client.Title, terminal.Clean(path))
		return err
	case err != nil:
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", path, err), "correct the file, or add the output of --print by hand; nothing was written")
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
		fmt.Fprintf(out, "the old file was saved as %s\n", terminal.Clean(backup))
	}
	_, err = fmt.Fprintf(out, "next: %s\n", client.After)
	return err
}

// ourEntry returns the gateway's entry for the client's file.
func ourEntry(cmd *cobra.Command, client desktop.Client, o installOptions) (desktop.Ours, error) {
	if o.url != "" {
		if o.config != "" {
			return desktop.Ours{}, command.UsageError("", "--url and --config cannot be combined")
		}
		return entryOf(cmd, client, "", o.url)
	}
	path, ok := config.Find(o.config, os.Getenv)
	if !ok {
		fmt.Fprintln(cmd.ErrOrStderr(), "no configuration found; the client uses the demo servers until there is a configuration in the user's config directory, or until you install again with --config")
		return entryOf(cmd, client, "", "")
	}
	if cfg, report := config.Load(path); cfg == nil {
		configfile.PrintFindings(cmd.ErrOrStderr(), report)
		return desktop.Ours{}, command.Fail(command.ExitConfig, errors.New("the configuration is invalid; nothing was written"), "")
	}
	return entryOf(cmd, client, path, "")
}

// entryOf returns the entry for the gateway at url, or for a configuration file. Without either, the stdio command
// searches for its configuration.
func entryOf(cmd *cobra.Command, client desktop.Client, path, url string) (desktop.Ours, error) {
	if url != "" && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return desktop.Ours{}, command.UsageError("use http://127.0.0.1:8730/mcp, or the URL that serve printed", "--url %q is not an http or https URL", secret.Text(url))
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
		fmt.Fprintf(errOut, "%s %s is a temporary build that will be deleted; build or install goblin-actor first\n", terminal.PaletteFor(errOut).Warn("warning:"), terminal.Clean(self))
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

// showDiff prints the changes to a file.
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

// confirm asks at the terminal whether to write, unless yes is set. It returns an error if the changes are not to be
// written.
func confirm(cmd *cobra.Command, yes bool) error {
	if yes {
		return nil
	}
	if !terminal.IsTerminal(cmd.InOrStdin()) {
		hint := "use --yes to write without asking"
		if cmd.Flags().Lookup("print") != nil {
			hint += ", or --print to print the entry"
		}
		return command.UsageError(hint, "nothing was written: confirmation requires a terminal")
	}
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	word, err := terminal.NewDialogue(cmd.InOrStdin(), cmd.ErrOrStderr()).Choose(ctx, "Write these changes? [N]o, [y]es: ", "n", "no", "y", "yes")
	if err == nil && word[0] == 'y' {
		return nil
	}
	if ctx.Err() != nil {
		return command.ErrInterrupted
	}
	return command.Fail(command.ExitFailed, errors.New("nothing was written"), "")
}
