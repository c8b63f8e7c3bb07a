package configure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/desktop"
)

type migrateOptions struct {
	into, file, name, url string
	yes, dryRun           bool
}

// NewMigrate returns the migrate command.
func NewMigrate() *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate CLIENT",
		Short: "Move a desktop client's servers to the gateway",
		Long: `Move the servers of a desktop client to the gateway: import them into the configuration (config import), add the gateway
to the client (config install), and remove the imported servers from the client. CLIENT is one of: ` + strings.Join(desktop.IDs(), ", ") + `.

The command shows all changes without values and asks for confirmation once, unless --yes is given. Secrets go into
the first file of the configuration's envFile, by default secrets.env next to the configuration. The client's old file is
kept next to the new one; the command prints how to restore it. Servers that cannot be imported stay in the client. If a
file cannot be written, the other changes are rolled back.

Without --into, the configuration is the file that serve would use, or the one in the user's configuration directory.`,
		Example: `  goblin-actor migrate claude-desktop --dry-run
  goblin-actor migrate cursor --url http://127.0.0.1:8730/mcp`,
		Args:      command.Args(1, 1, "a client: "+strings.Join(desktop.IDs(), ", ")),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return migrate(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "configuration file to write")
	flags.StringVar(&o.file, "file", "", "the client's file, if it is not in its usual place")
	flags.StringVar(&o.name, "name", "goblin", "name of the gateway's entry in the client")
	flags.StringVar(&o.url, "url", "", "make the client connect to the gateway at this URL instead of starting one")
	flags.BoolVar(&o.yes, "yes", false, "skip the confirmation")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print the changes and write nothing")
	return cmd
}

// migration holds the planned changes.
type migration struct {
	client  desktop.Client
	file    *config.File // the client's file
	text    string       // the new content of the client's file
	in      *importer
	removed int // servers removed from the client
}

// migrate plans, confirms and writes the migration.
func migrate(cmd *cobra.Command, id string, o migrateOptions) error {
	m, err := planMigration(cmd, id, o)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(m.in.entries) == 0 && m.text == m.file.Text {
		_, err := fmt.Fprintf(out, "nothing to do: %s uses the gateway and has no other servers to move\n", m.client.Title)
		return err
	}
	m.in.show()
	if m.text != m.file.Text {
		showDiff(cmd, m.file.Path, m.client.Diff(m.file.Text, m.text, o.name))
	}
	m.in.advise(cmd.ErrOrStderr())
	if o.dryRun {
		_, err := fmt.Fprintln(out, "nothing was written")
		return err
	}
	if err := confirm(cmd, o.yes); err != nil {
		return err
	}
	if err := m.write(cmd); err != nil {
		return err
	}
	m.advise(cmd, o)
	return nil
}

// advise prints what the user should do next.
func (m *migration) advise(cmd *cobra.Command, o migrateOptions) {
	out, own := cmd.OutOrStdout(), terminal.Clean(program.ShellPath(m.in.file.Path))
	if o.url != "" && !m.served(cmd) {
		fmt.Fprintf(out, "next: run %s serve --config %s; no gateway runs with this file\n", program.Name(), own)
	}
	if len(m.in.entries) > 0 {
		fmt.Fprintf(out, "to test the imported servers: %s doctor --config %s\n", program.Name(), own)
	}
	if m.text != m.file.Text {
		fmt.Fprintf(out, "next: %s\n", m.client.After)
	}
}

// served reports whether a gateway runs with the configuration.
func (m *migration) served(cmd *cobra.Command) bool {
	gateways, _ := target.Gateways(cmd.Context(), "") // gateways that do not answer are ignored
	return slices.ContainsFunc(gateways, func(g *target.Gateway) bool { return g.RunsWith(m.in.file.Path) })
}

// planMigration computes all changes and writes nothing.
func planMigration(cmd *cobra.Command, id string, o migrateOptions) (*migration, error) {
	client, err := clientNamed(id)
	if err != nil {
		return nil, err
	}
	if o.name == "" || config.Slug(o.name) != o.name {
		return nil, command.UsageError(`use lower-case letters and digits and, after the first character, also "-"`, "--name %q is not valid", o.name)
	}
	host := desktop.ThisHost()
	path := o.file
	if path == "" {
		if path, err = client.Find(host); err != nil {
			return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s: no directory for %s: %w", client.Title, path, err), "start the client once, or specify its file with --file")
		}
	}
	m := &migration{client: client}
	if m.file, err = config.OpenFile(path, desktop.MaxFileBytes); err != nil {
		return nil, configfile.FileError(err)
	}
	if !m.file.Exists() {
		return nil, noClientFile(client, path)
	}
	own, err := configfile.Open(ownPath(o.into), true)
	if err != nil {
		return nil, err
	}
	if m.in, err = newImporter(cmd, own, importOptions{}); err != nil {
		return nil, err
	}
	served, err := m.in.take(client, m.file, host)
	if err != nil {
		if _, invalid := errors.AsType[*config.InvalidError](err); invalid || errors.Is(err, config.ErrByHand) {
			return nil, configfile.EditError(cmd, own, err)
		}
		return nil, err
	}
	return m, m.edit(cmd, served, o)
}

// ownPath returns the path of the configuration to write: the named one, otherwise the one that serve would use,
// otherwise the one in the user's config directory.
func ownPath(into string) string {
	if path, ok := config.Find(into, os.Getenv); ok {
		return path
	}
	return config.UserFile(os.Getenv)
}

// edit computes the new content of the client's file.
func (m *migration) edit(cmd *cobra.Command, served []desktop.Found, o migrateOptions) error {
	byHand := func(err error) error {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", m.file.Path, err), "correct the file, or add the output of goblin-actor config install --print by hand; nothing was written")
	}
	ours, err := entryOf(cmd, m.client, m.in.file.Path, o.url)
	if err != nil {
		return err
	}
	m.text = m.file.Text
	for _, one := range served {
		next, err := m.client.Remove(m.text, one.Name, one.Dir)
		if err != nil {
			return byHand(err)
		}
		m.text = next
		m.removed++
	}
	next, err := m.client.Install(m.text, o.name, ours)
	switch {
	case errors.Is(err, desktop.ErrSame):
	case err != nil:
		return byHand(err)
	default:
		m.text = next
	}
	if m.text == m.file.Text {
		return nil
	}
	return configfile.FileError(m.file.CheckWritable())
}

// write writes the configuration before the client's file, so that the client never loses a server that the gateway
// does not have. If writing the client's file fails, write restores the configuration.
func (m *migration) write(cmd *cobra.Command) error {
	defer configfile.HoldSignals()()
	out := cmd.OutOrStdout()
	undo := func() error { return nil }
	if len(m.in.entries) > 0 {
		if err := os.MkdirAll(filepath.Dir(m.in.file.Path), 0o700); err != nil {
			return command.Fail(command.ExitFailed, fmt.Errorf("nothing was written: %w", err), "")
		}
		var err error
		if undo, err = m.in.write(); err != nil {
			return err
		}
	}
	if m.text == m.file.Text {
		return nil
	}
	backup, err := m.file.Replace(m.text, true)
	if err != nil {
		if failed := undo(); failed != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s the imported servers remain in %s: %s\n", terminal.PaletteFor(cmd.ErrOrStderr()).Warn("warning:"), terminal.Clean(m.in.file.Path), terminal.Clean(failed.Error()))
		} else {
			fmt.Fprintln(cmd.ErrOrStderr(), "all other changes were rolled back")
		}
		return configfile.FileError(err)
	}
	fmt.Fprintf(out, "wrote %s: added the gateway, removed %s\n", terminal.Clean(m.file.Path), terminal.Count(m.removed, "server"))
	fmt.Fprintf(out, "to undo: %s\n", terminal.Clean(copyLine(backup, m.file.Path)))
	if names := m.imported(); names != "" {
		fmt.Fprintf(out, "undoing this leaves %s in the gateway; to remove a server there: %s remove NAME --config %s\n", terminal.Clean(names), program.Name(), terminal.Clean(program.ShellPath(m.in.file.Path)))
	}
	return nil
}

// imported returns the names of the imported servers.
func (m *migration) imported() string {
	var names []string
	for _, e := range m.in.entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// copyLine returns the shell command that copies a file.
func copyLine(from, to string) string {
	verb := "cp"
	if runtime.GOOS == "windows" {
		verb = "copy /y"
	}
	return verb + " " + program.ShellPath(from) + " " + program.ShellPath(to)
}
