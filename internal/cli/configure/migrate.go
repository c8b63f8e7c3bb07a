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

// NewMigrate returns the command that puts the gateway between a client and its servers.
func NewMigrate() *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate CLIENT",
		Short: "Move a desktop client's servers behind the gateway",
		Long: `Move the servers of a client behind the gateway: take them into the configuration (config import), write our entry
into the client's file (config install), and take the originals out of it. The client is one of ` + strings.Join(desktop.IDs(), ", ") + `.

All that will change is shown without values, and has to be confirmed once, on the terminal or with --yes. Secrets go
into secrets.env beside the configuration. The client's old file is kept beside the new one, and the line that brings it
back is printed. What cannot be taken stays where it is. When one of the files cannot be written, those that were are made
what they have been.

Without --into the configuration is the one serve would take; where there is none, that of the user's config directory.`,
		Example: `  goblin-actor migrate claude-desktop --dry-run
  goblin-actor migrate cursor --url http://127.0.0.1:8730/mcp`,
		Args:      command.Args(1, 1, "the name of a client: "+strings.Join(desktop.IDs(), ", ")),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return migrate(cmd, args[0], o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "configuration to write")
	flags.StringVar(&o.file, "file", "", "the client's file, where it is not in its usual place")
	flags.StringVar(&o.name, "name", "goblin", "name of our entry")
	flags.StringVar(&o.url, "url", "", "have the client use the gateway that runs at this URL instead of starting one")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only show what would change")
	return cmd
}

// migration is what will be changed.
type migration struct {
	client desktop.Client
	file   *config.File // the client's
	text   string       // as it shall be
	in     *importer
	gone   int // originals that are taken out
}

func migrate(cmd *cobra.Command, id string, o migrateOptions) error {
	m, err := planMigration(cmd, id, o)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(m.in.entries) == 0 && m.text == m.file.Text {
		_, err := fmt.Fprintf(out, "nothing to do: %s uses the gateway alone\n", m.client.Title)
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
	if err := m.carryOut(cmd); err != nil {
		return err
	}
	m.advise(cmd, o)
	return nil
}

// advise says what is left to a person.
func (m *migration) advise(cmd *cobra.Command, o migrateOptions) {
	out, own := cmd.OutOrStdout(), terminal.Clean(program.ShellPath(m.in.file.Path))
	if o.url != "" && !m.served(cmd) {
		fmt.Fprintf(out, "to do: %s serve --config %s, as no gateway runs with it\n", program.Name(), own)
	}
	if len(m.in.entries) > 0 {
		fmt.Fprintf(out, "goblin-actor doctor --config %s tries what was taken\n", own)
	}
	if m.text != m.file.Text {
		fmt.Fprintf(out, "to do: %s\n", m.client.After)
	}
}

// served tells whether a gateway runs with our file.
func (m *migration) served(cmd *cobra.Command) bool {
	gateways, _ := target.Gateways(cmd.Context(), "") // none that answers is none
	return slices.ContainsFunc(gateways, func(g *target.Gateway) bool { return g.RunsWith(m.in.file.Path) })
}

func planMigration(cmd *cobra.Command, id string, o migrateOptions) (*migration, error) {
	client, err := clientNamed(id)
	if err != nil {
		return nil, err
	}
	if o.name == "" || config.Slug(o.name) != o.name {
		return nil, command.UsageError("names are lower-case letters, digits and -", "--name %q", o.name)
	}
	host := desktop.ThisHost()
	path := o.file
	if path == "" {
		if path, err = client.Find(host); err != nil {
			return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s: no directory for %s: %w", client.Title, path, err), "start it once, or name its file with --file")
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

// ownPath is the configuration to write: the one named, the one serve would take, or that of the user.
func ownPath(into string) string {
	if path, ok := config.Find(into, os.Getenv); ok {
		return path
	}
	return config.UserFile(os.Getenv)
}

// edit makes the client's file as it shall be.
func (m *migration) edit(cmd *cobra.Command, served []desktop.Found, o migrateOptions) error {
	byHand := func(err error) error {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", m.file.Path, err), "nothing was written; mend it, or change it by hand: goblin-actor config install --print prints our entry")
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
		m.gone++
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

// carryOut writes our files first, so that the client never loses a server that the gateway does not have; should its
// own file fail, they are taken back.
func (m *migration) carryOut(cmd *cobra.Command) error {
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
			fmt.Fprintf(cmd.ErrOrStderr(), "%s %s keeps what was taken: %s\n", terminal.PaletteFor(cmd.ErrOrStderr()).Warn("warning:"), terminal.Clean(m.in.file.Path), terminal.Clean(failed.Error()))
		} else {
			fmt.Fprintln(cmd.ErrOrStderr(), "all is as it was before")
		}
		return configfile.FileError(err)
	}
	fmt.Fprintf(out, "wrote %s: our entry is in, %s taken out\n", terminal.Clean(m.file.Path), terminal.Count(m.gone, "server"))
	fmt.Fprintf(out, "to undo: %s\n", terminal.Clean(copyLine(backup, m.file.Path)))
	if names := m.taken(); names != "" {
		fmt.Fprintf(out, "the gateway keeps %s then, until goblin-actor remove NAME --config %s\n", terminal.Clean(names), terminal.Clean(program.ShellPath(m.in.file.Path)))
	}
	return nil
}

// taken are the names of what was taken.
func (m *migration) taken() string {
	var names []string
	for _, e := range m.in.entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// copyLine is what one types to copy a file.
func copyLine(from, to string) string {
	verb := "cp"
	if runtime.GOOS == "windows" {
		verb = "copy /y"
	}
	return verb + " " + program.ShellPath(from) + " " + program.ShellPath(to)
}
