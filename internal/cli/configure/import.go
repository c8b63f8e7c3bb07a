package configure

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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

// newConfigImport returns the command that takes servers from other programs' files.
func newConfigImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [CLIENT]…",
		Short: "Take servers from desktop clients' files into the configuration",
		Long: `Take servers from the files of clients into the configuration: ` + strings.Join(desktop.IDs(), ", ") + `;
without CLIENT from all that are here. The clients' files are only read.

A server that is in the configuration already is skipped, another one of the same name gets a number. What looks like a
secret, in env, headers, arguments or an address, goes into secrets.env beside the configuration, which you alone can
read and envFile names; the configuration has references like ${API_KEY}. What will be written is shown without values,
and has to be confirmed, on the terminal or with --yes.
With --env-refs no value of env and headers is written anywhere, and you are told which variables to set; with --plain all
are copied into the configuration.`,
		Example:   "  goblin-actor config import --dry-run\n  goblin-actor config import cursor vscode --env-refs --into goblin.yaml",
		Args:      command.Args(0, -1, "names of clients"),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return importServers(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "configuration to write (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	flags.StringVar(&o.file, "file", "", "the client's file, where it is not in its usual place; for one CLIENT")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only say what would be taken")
	flags.BoolVar(&o.envRefs, "env-refs", false, "write ${VARIABLE} instead of the values of env and headers, and no values at all")
	flags.BoolVar(&o.plain, "plain", false, "copy values into the configuration, secrets too")
	cmd.MarkFlagsMutuallyExclusive("env-refs", "plain")
	return cmd
}

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
		return command.UsageError("goblin-actor config import CLIENT --file FILE", "--file is for one client")
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
		return &command.Error{Code: command.ExitFailed} // all has been said
	}
	return nil
}

// importer collects what goes into our file.
type importer struct {
	cmd  *cobra.Command
	file *config.File
	text string // with what has been taken so far
	o    importOptions

	listen []string // where the gateway of our file would be reached
	vars   envTarget

	looked  int            // at how many files
	absent  []string       // those that are not there, with their clients
	entries []config.Entry // that were taken
	sources []config.Entry // these, as their clients have them, with the names they got
	copied  bool           // a value of env or headers that is no reference
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

// client takes the servers of one client. A file that is not there is an error only if it was asked for.
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
	return command.Fail(command.ExitFailed, fmt.Errorf("%s: there is no %s", client.Title, path), "--file names its file, where it is somewhere else")
}

// take takes the servers of a client's file. It returns those that the gateway serves now.
func (in *importer) take(client desktop.Client, f *config.File, host desktop.Host) (served []desktop.Found, err error) {
	in.looked++
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	found, err := client.Servers(f.Text, dir, host)
	if err != nil {
		return nil, command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), "mend the file, or name the clients you want")
	}
	out := in.cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s in %s\n", client.Title, terminal.Count(len(found), "server"), terminal.Clean(f.Path))
	var ignored []string
	for _, one := range found {
		said, serves, err := in.server(one)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "  %s: %s\n", terminal.OneLine(one.Name, 64), said)
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
		fmt.Fprintf(out, "  left out, as the client's own: %s\n", terminal.OneLine(strings.Join(ignored, ", "), 200))
	}
	return served, nil
}

// server takes one server and says what became of it; serves tells that it stands in our file now.
func (in *importer) server(one desktop.Found) (said string, serves bool, err error) {
	if one.Skipped != "" {
		return "skipped: " + terminal.Clean(one.Skipped), false, nil
	}
	e := one.Entry
	if u, err := url.Parse(e.URL); err == nil && slices.Contains(in.listen, strings.Replace(u.Host, "localhost", "127.0.0.1", 1)) {
		return "skipped: it is this gateway", false, nil
	}
	name := config.Slug(one.Name)
	e.Name = name
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
	taken := config.Entries(in.text)
	for _, other := range slices.Concat(taken, in.sources) {
		if in.sameServer(other, one.Entry) {
			return "skipped: " + other.Name + " is the same", true, nil
		}
	}
	for n := 2; ; n++ {
		at := slices.IndexFunc(taken, func(other config.Entry) bool { return other.Name == e.Name })
		if at >= 0 && (alike(taken[at], e) || alike(in.meant(taken[at]), in.meant(one.Entry))) {
			return "skipped: " + e.Name + " is the same", true, nil
		}
		if at < 0 && e.Name != "goblin" {
			break
		}
		e.Name = fmt.Sprintf("%s-%d", name, n)
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
	said = "taken as " + e.Name + ", " + describeEntry(e)
	for _, note := range one.Notes {
		said += "; " + terminal.Clean(note)
	}
	return said, true, nil
}

// meant is an entry with the variables of our file replaced by what they hold.
func (in *importer) meant(e config.Entry) config.Entry {
	expand := func(s string) string {
		return config.Expand(s, func(name string) (string, bool) {
			if value, ok := in.vars.lookup(name); ok {
				return value, true
			}
			return "${" + name + "}", true // one that is not set is no other
		})
	}
	list := func(vars []config.Variable) []config.Variable {
		vars = slices.Clone(vars)
		for i := range vars {
			vars[i].Value = expand(vars[i].Value)
		}
		return vars
	}
	e.Command, e.URL, e.Cwd, e.Args = expand(e.Command), expand(e.URL), expand(e.Cwd), slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = expand(e.Args[i])
	}
	e.Env, e.Headers = list(e.Env), list(e.Headers)
	return e
}

// sameServer reports whether two entries are the same server under any names. Spellings that make no difference do not count: the path of
// a program that PATH has, npx with or without -y, @latest behind a package, a slash at the end of an address.
func (in *importer) sameServer(a, b config.Entry) bool {
	a, b = plainSpelling(in.meant(a)), plainSpelling(in.meant(b))
	return alike(a, b) && a.Disabled == b.Disabled && slices.Equal(a.ToolsDisabled, b.ToolsDisabled) &&
		slices.Equal(a.ToolsAllow, b.ToolsAllow) && slices.Equal(a.ToolsDeny, b.ToolsDeny)
}

// plainSpelling writes an entry without what makes no difference.
func plainSpelling(e config.Entry) config.Entry {
	e.URL = strings.TrimSuffix(e.URL, "/")
	if name := filepath.Base(e.Command); name != e.Command {
		if path, err := exec.LookPath(name); err == nil && path == e.Command {
			e.Command = name
		}
	}
	if e.Command == "npx" {
		e.Args = slices.DeleteFunc(slices.Clone(e.Args), func(arg string) bool { return arg == "-y" || arg == "--yes" })
		for i, arg := range e.Args {
			e.Args[i] = strings.TrimSuffix(arg, "@latest")
		}
	}
	return e
}

// alike tells entries that mean the same server.
func alike(a, b config.Entry) bool {
	asMap := func(list []config.Variable) map[string]string {
		m := map[string]string{}
		for _, v := range list {
			m[v.Name] = v.Value
		}
		return m
	}
	return a.Command == b.Command && a.URL == b.URL && slices.Equal(a.Args, b.Args) && a.Cwd == b.Cwd &&
		maps.Equal(asMap(a.Env), asMap(b.Env)) && maps.Equal(asMap(a.Headers), asMap(b.Headers))
}

// describeEntry says what a server is without telling what may be secret: no arguments, no values, of a URL only the host.
func describeEntry(e config.Entry) string {
	if e.URL != "" {
		if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
			return terminal.Clean(u.Scheme + "://" + u.Host + "/…")
		}
		return "an address"
	}
	said := terminal.OneLine(filepath.Base(e.Command), 40)
	if len(e.Args) > 0 {
		said += " with " + terminal.Count(len(e.Args), "argument")
	}
	if len(e.Env) > 0 {
		said += ", " + terminal.Count(len(e.Env), "variable")
	}
	if e.Disabled {
		said += ", disabled"
	}
	return said
}

// finish writes what was taken, or says what would be.
func (in *importer) finish(dryRun bool) error {
	out, errOut := in.cmd.OutOrStdout(), in.cmd.ErrOrStderr()
	switch {
	case in.looked == 0 && len(in.absent) == 0: // what was asked for is not there; that has been said
		return nil
	case in.looked == 0:
		fmt.Fprintln(out, "no client's file was read; these are not there:")
		for _, file := range in.absent {
			fmt.Fprintln(out, "  "+terminal.Clean(file))
		}
		return nil
	case len(in.entries) == 0:
		_, err := fmt.Fprintln(out, "nothing to take")
		return err
	}
	in.show()
	in.advise(errOut)
	if dryRun {
		_, err := fmt.Fprintf(out, "%s would go into %s; nothing was written\n", terminal.Count(len(in.entries), "server"), terminal.Clean(in.file.Path))
		return err
	}
	if err := confirm(in.cmd, in.o.yes); err != nil {
		return err
	}
	if _, err := in.write(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s taken into %s\n", terminal.Count(len(in.entries), "server"), terminal.Clean(in.file.Path))
	return err
}

// show prints what will be written into our files, without values that may be secret.
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

// write writes both files, the one with the secrets first: a configuration never names what is not there. undo takes
// both back.
func (in *importer) write() (undo func() error, err error) {
	defer configfile.HoldSignals()()
	undoVars, err := in.vars.write(in.cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	if err := configfile.Write(in.cmd, in.file, in.text); err != nil {
		return nil, errors.Join(err, undoVars())
	}
	return func() error { return errors.Join(takeBack(in.file), undoVars()) }, nil
}

// advise says what a person has to know about secrets.
func (in *importer) advise(w io.Writer) {
	p := terminal.PaletteFor(w)
	if in.copied && in.file.Shared() {
		fmt.Fprintf(w, "%s others can read %s, and values of env or headers may be secret\n%s chmod 600 it, or leave out --plain\n",
			p.Warn("warning:"), terminal.Clean(in.file.Path), p.Good("hint:"))
	}
	if names := slices.Sorted(maps.Keys(in.unset)); len(names) > 0 {
		fmt.Fprintf(w, "set these variables where the gateway starts: %s\n", terminal.Clean(strings.Join(names, ", ")))
	}
}
