package configure

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/desktop"
)

type importOptions struct {
	into, file             string
	dryRun, envRefs, plain bool
	yes                    bool
}

// newConfigImport returns the config import command.
func newConfigImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [CLIENT]…",
		Short: "Import servers from desktop clients into the configuration",
		Long: `Import servers from the files of desktop clients into the configuration. CLIENT is one of: ` + strings.Join(desktop.IDs(), ", ") + `.
Without CLIENT, servers are imported from every client found on this machine. The clients' files are not changed.

A server that the configuration already contains is skipped. If a different server already has the name of an imported one,
a number is appended to the name of the imported server, such as github-2. Values in env, headers, arguments or URLs that look like secrets go into the first file of the
configuration's envFile, by default a new file secrets.env that only you can read, next to the configuration. The
configuration contains references like ${API_KEY}. The command shows the changes without values and asks for confirmation, unless --yes is given.

With --env-refs, no values of env and headers are written; the command prints the variables to set. With --plain, all values
are copied into the configuration.`,
		Example:   "  goblin-actor config import --dry-run\n  goblin-actor config import cursor vscode --env-refs --into goblin.yaml",
		Args:      command.Args(0, -1, "client names"),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return importServers(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "configuration file to write (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	flags.StringVar(&o.file, "file", "", "the client's file, if it is not in its usual place; requires one CLIENT")
	flags.BoolVar(&o.yes, "yes", false, "skip the confirmation")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be imported and write nothing")
	flags.BoolVar(&o.envRefs, "env-refs", false, "write ${VARIABLE} instead of the values of env and headers")
	flags.BoolVar(&o.plain, "plain", false, "copy all values into the configuration, including secrets")
	cmd.MarkFlagsMutuallyExclusive("env-refs", "plain")
	return cmd
}

// importServers imports the servers of the named clients, or of all clients.
func importServers(cmd *cobra.Command, ids []string, o importOptions) error {
	clients := desktop.Clients
	if len(ids) > 0 {
		clients = nil
		for _, id := range ids {
			client, err := clientNamed(id)
			if err != nil {
				return err
			}
			clients = append(clients, client)
		}
	}
	if o.file != "" && len(ids) != 1 {
		return command.UsageError("use goblin-actor config import CLIENT --file FILE", "--file requires exactly one client")
	}
	f, err := configfile.Open(o.into, true)
	if err != nil {
		return err
	}
	in, err := newImporter(cmd, f, o)
	if err != nil {
		return err
	}
	failed := false
	for _, client := range clients {
		if err := in.client(client, o.file, len(ids) > 0); err != nil {
			if _, invalid := errors.AsType[*config.InvalidError](err); invalid || errors.Is(err, config.ErrByHand) {
				return configfile.EditError(cmd, f, err)
			}
			failed = true
			command.PrintError(cmd.ErrOrStderr(), err)
		}
	}
	if err := in.finish(o.dryRun); err != nil {
		return err
	}
	if failed {
		return &command.Error{Code: command.ExitFailed} // the errors have been printed
	}
	return nil
}

// importer collects the servers to be written into the configuration.
type importer struct {
	cmd  *cobra.Command
	file *config.File
	text string // the configuration's text with the changes so far
	o    importOptions

	listen []string // addresses of the gateway that would run with the file
	vars   envTarget

	looked  int            // number of client files read
	absent  []string       // client files that do not exist, with their clients
	entries []config.Entry // imported
	sources []config.Entry // the imported entries as their clients' files define them, before secrets move to variables; with their new names
	copied  bool           // a value of env or headers was copied into the configuration
	secrets map[string]string
	unset   map[string]bool
}

func newImporter(cmd *cobra.Command, f *config.File, o importOptions) (*importer, error) {
	in := &importer{cmd: cmd, file: f, text: f.Text, o: o, secrets: map[string]string{}, unset: map[string]bool{}}
	if cfg, _ := config.Parse(f.Path, []byte(f.Text), os.LookupEnv); cfg != nil {
		in.listen = cfg.Listen
	}
	var err error
	in.vars, err = openVariables(f)
	return in, err
}

// client imports the servers of one client. A missing file is an error only if the user named the client.
func (in *importer) client(client desktop.Client, path string, asked bool) error {
	host := desktop.ThisHost()
	var err error
	if path == "" {
		if path, err = client.Find(host); err != nil && !asked {
			if path != "" {
				in.absent = append(in.absent, client.Title+": "+path)
			}
			return nil
		}
	}
	f, err := config.OpenFile(path, desktop.MaxFileBytes)
	if err != nil {
		return configfile.FileError(err)
	}
	if !f.Exists() {
		if !asked {
			in.absent = append(in.absent, client.Title+": "+path)
			return nil
		}
		return noClientFile(client, path)
	}
	_, err = in.take(client, f, host)
	return err
}

func noClientFile(client desktop.Client, path string) error {
	return command.Fail(command.ExitFailed, fmt.Errorf("%s: the file %s does not exist", client.Title, path), "use --file if the file is in another place")
}

// take imports the servers of a client's file. It returns the servers that the changed configuration contains, whether
// imported or already present.
func (in *importer) take(client desktop.Client, f *config.File, host desktop.Host) (served []desktop.Found, err error) {
	in.looked++
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	found, err := client.Servers(f.Text, dir, host)
	if err != nil {
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), "correct the file; to import from other clients only, name them")
	}
	out := in.cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s in %s\n", client.Title, terminal.Count(len(found), "server"), terminal.Clean(f.Path))
	var ignored []string
	for _, one := range found {
		result, serves, err := in.server(one)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "  %s: %s\n", terminal.OneLine(one.Name, 64), result)
		if serves {
			served = append(served, one)
		}
		for _, key := range one.Ignored {
			if !slices.Contains(ignored, key) {
				ignored = append(ignored, key)
			}
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(out, "  settings of the client, not imported: %s\n", terminal.OneLine(strings.Join(ignored, ", "), 200))
	}
	return served, nil
}

// server imports one server and describes the result. serves reports whether the configuration contains the server
// afterwards.
func (in *importer) server(one desktop.Found) (result string, serves bool, err error) {
	if one.Skipped != "" {
		return "skipped: " + terminal.Clean(one.Skipped), false, nil
	}
	e := one.Entry
	if u, err := url.Parse(e.URL); err == nil && slices.Contains(in.listen, strings.Replace(u.Host, "localhost", "127.0.0.1", 1)) {
		return "skipped: this gateway itself", false, nil
	}
	e.Name = config.Slug(one.Name)
	e.Env, e.Headers, e.Args = slices.Clone(e.Env), slices.Clone(e.Headers), slices.Clone(e.Args)
	var unset []string
	var moved []config.Variable
	switch {
	case in.o.envRefs:
		trial := maps.Clone(in.secrets)
		unset = desktop.Refer(&e, trial)
		in.secrets = trial
	case !in.o.plain:
		moved = desktop.Conceal(&e, in.vars.taken)
	}
	if same := in.chooseName(&e, one.Entry); same != "" {
		return "skipped: same as " + same, true, nil
	}
	text, err := config.AddServer(in.file.Path, in.text, e)
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok && invalid.After {
		return "skipped: " + terminal.Clean(invalid.Report.Faults[0].Message), false, nil
	}
	if err != nil {
		return "", false, err
	}
	if len(moved) > 0 {
		if text, err = in.vars.put(in.file.Path, text, moved); err != nil {
			return "", false, err
		}
	}
	in.text = text
	in.entries = append(in.entries, e)
	one.Entry.Name = e.Name
	in.sources = append(in.sources, one.Entry)
	in.copied = in.copied || in.o.plain && len(e.Env)+len(e.Headers) > 0
	for _, variable := range unset {
		in.unset[variable] = true
	}
	result = "imported as " + e.Name + ", " + describeEntry(e)
	for _, note := range one.Notes {
		result += "; " + terminal.Clean(note)
	}
	return result, true, nil
}

// finish writes the imported servers, or with dryRun prints what would be written.
func (in *importer) finish(dryRun bool) error {
	out, errOut := in.cmd.OutOrStdout(), in.cmd.ErrOrStderr()
	switch {
	case in.looked == 0 && len(in.absent) == 0: // no file of a named client could be read; the errors have been printed
		return nil
	case in.looked == 0:
		fmt.Fprintln(out, "no client files were found; these do not exist:")
		for _, file := range in.absent {
			fmt.Fprintln(out, "  "+terminal.Clean(file))
		}
		return nil
	case len(in.entries) == 0:
		_, err := fmt.Fprintln(out, "nothing to import")
		return err
	}
	in.show()
	in.advise(errOut)
	if dryRun {
		_, err := fmt.Fprintf(out, "%s would be added to %s; nothing was written\n", terminal.Count(len(in.entries), "server"), terminal.Clean(in.file.Path))
		return err
	}
	if err := confirm(in.cmd, in.o.yes); err != nil {
		return err
	}
	if _, err := in.write(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s imported into %s\n", terminal.Count(len(in.entries), "server"), terminal.Clean(in.file.Path))
	return err
}

// show prints the changes. It does not print values that may be secret.
func (in *importer) show() {
	if len(in.entries) == 0 {
		return
	}
	lines := []string{}
	if in.vars.named {
		lines = append(lines, "+ envFile: "+in.vars.written)
	}
	lines = append(lines, "  mcpServers:")
	for _, e := range in.entries {
		for _, line := range e.Shown() {
			lines = append(lines, "+ "+line)
		}
	}
	showDiff(in.cmd, in.file.Path, lines)
	if len(in.vars.added) > 0 {
		lines = lines[:0]
		for _, v := range in.vars.added {
			lines = append(lines, "+ "+v.Name+"=…")
		}
		showDiff(in.cmd, in.vars.file.Path, lines)
	}
}

// write writes both files, secrets first, so that the configuration never refers to a missing file. undo restores both.
func (in *importer) write() (undo func() error, err error) {
	defer configfile.HoldSignals()()
	undoVars, err := in.vars.write(in.cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if err := configfile.Write(in.cmd, in.file, in.text); err != nil {
		return nil, errors.Join(err, undoVars())
	}
	return func() error { return errors.Join(restore(in.file), undoVars()) }, nil
}

// advise prints a warning about copied secrets and the variables that the user must set.
func (in *importer) advise(w io.Writer) {
	p := terminal.PaletteFor(w)
	if in.copied && in.file.Shared() {
		fmt.Fprintf(w, "%s other users can read %s, and values of env or headers may be secret\n%s run chmod 600 on it, or omit --plain\n",
			p.Warn("warning:"), terminal.Clean(in.file.Path), p.Good("hint:"))
	}
	if names := slices.Sorted(maps.Keys(in.unset)); len(names) > 0 {
		fmt.Fprintf(w, "set these variables in the environment of the gateway: %s\n", terminal.Clean(strings.Join(names, ", ")))
	}
}
