package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/config"
	"goblin-actor/internal/desktop"
)

type importOptions struct {
	into, file      string
	dryRun, envRefs bool
}

// newConfigImport returns the command that takes servers from other programs' files.
func newConfigImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [CLIENT]…",
		Short: "Take servers from desktop clients' files into the configuration",
		Long: `Take servers from the files of clients into the configuration: ` + strings.Join(desktop.IDs(), ", ") + `;
without CLIENT from all that are here. The clients' files are only read.

A server that is in the configuration already is skipped, another one of the same name gets a number. Values are
copied as they are, and never shown; with --env-refs, env and headers get references like ${API_KEY} instead, and
you are told which variables to set.`,
		Example:   "  goblin-actor config import --dry-run\n  goblin-actor config import cursor vscode --env-refs --into goblin.yaml",
		Args:      takes(0, -1, "names of clients"),
		ValidArgs: desktop.IDs(),
		RunE:      func(cmd *cobra.Command, args []string) error { return importServers(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.into, "into", "", "configuration to write (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
	flags.StringVar(&o.file, "file", "", "the client's file, where it is not in its usual place; for one CLIENT")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only say what would be taken")
	flags.BoolVar(&o.envRefs, "env-refs", false, "write ${VARIABLE} instead of the values of env and headers")
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
		return usageError("goblin-actor config import CLIENT --file FILE", "--file is for one client")
	}
	f, err := openOwn(o.into, true)
	if err != nil {
		return err
	}
	in := &importer{cmd: cmd, file: f, text: f.Text, refs: o.envRefs, secrets: map[string]string{}, unset: map[string]bool{}}
	if cfg, _ := config.Parse(f.Path, []byte(f.Text), os.LookupEnv); cfg != nil {
		in.listen = cfg.Listen
	}
	failed := false
	for _, client := range clients {
		if err := in.client(client, o.file, len(ids) > 0); err != nil {
			if _, invalid := errors.AsType[*config.InvalidError](err); invalid || errors.Is(err, config.ErrByHand) {
				return editError(cmd, f, err)
			}
			failed = true
			report(cmd.ErrOrStderr(), err)
		}
	}
	if err := in.finish(o.dryRun); err != nil {
		return err
	}
	if failed {
		return &exitError{code: exitFailed} // all has been said
	}
	return nil
}

// importer collects what goes into our file.
type importer struct {
	cmd  *cobra.Command
	file *config.File
	text string // with what has been taken so far
	refs bool

	listen []string // where the gateway of our file would be reached

	looked  int      // at how many files
	absent  []string // those that are not there, with their clients
	taken   int
	copied  bool              // a value of env or headers that is no reference
	secrets map[string]string // by the variable that stands for it
	unset   map[string]bool
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
		return fileError(err)
	}
	if !f.Exists() {
		if !asked {
			in.absent = append(in.absent, client.Title+": "+path)
			return nil
		}
		return &exitError{exitFailed, fmt.Errorf("%s: there is no %s", client.Title, path), "--file names its file, where it is somewhere else"}
	}
	in.looked++
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	found, err := client.Servers(f.Text, dir, host)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("%s: %w", path, err), "mend the file, or name the clients you want"}
	}
	fmt.Fprintf(in.cmd.OutOrStdout(), "%s: %s in %s\n", client.Title, count(len(found), "server"), clean(path))
	for _, one := range found {
		said, err := in.server(one)
		if err != nil {
			return err
		}
		fmt.Fprintf(in.cmd.OutOrStdout(), "  %s: %s\n", oneLine(one.Name, 64), said)
	}
	return nil
}

// server takes one server and says what became of it.
func (in *importer) server(one desktop.Found) (string, error) {
	if one.Skipped != "" {
		return "skipped: " + clean(one.Skipped), nil
	}
	e := one.Entry
	if u, err := url.Parse(e.URL); err == nil && slices.Contains(in.listen, strings.Replace(u.Host, "localhost", "127.0.0.1", 1)) {
		return "skipped: it is this gateway", nil
	}
	name := config.Slug(one.Name)
	e.Name = name
	var unset []string
	if in.refs {
		trial := maps.Clone(in.secrets)
		unset = desktop.Refer(&e, trial)
		in.secrets = trial
	}
	taken := config.Entries(in.text)
	for n := 2; ; n++ {
		at := slices.IndexFunc(taken, func(other config.Entry) bool { return other.Name == e.Name })
		if at >= 0 && alike(taken[at], e) {
			return "skipped: " + e.Name + " is the same", nil
		}
		if at < 0 && e.Name != "goblin" {
			break
		}
		e.Name = fmt.Sprintf("%s-%d", name, n)
	}
	text, err := config.AddServer(in.file.Path, in.text, e)
	if invalid, ok := errors.AsType[*config.InvalidError](err); ok && invalid.After {
		return "skipped: " + clean(invalid.Report.Faults[0].Message), nil
	}
	if err != nil {
		return "", err
	}
	in.text = text
	in.taken++
	in.copied = in.copied || !in.refs && len(e.Env)+len(e.Headers) > 0
	for _, variable := range unset {
		in.unset[variable] = true
	}
	said := "taken as " + e.Name + ", " + describeEntry(e)
	for _, note := range one.Notes {
		said += "; " + clean(note)
	}
	return said, nil
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
			return clean(u.Scheme + "://" + u.Host + "/…")
		}
		return "an address"
	}
	said := oneLine(filepath.Base(e.Command), 40)
	if len(e.Args) > 0 {
		said += " with " + count(len(e.Args), "argument")
	}
	if len(e.Env) > 0 {
		said += ", " + count(len(e.Env), "variable")
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
			fmt.Fprintln(out, "  "+clean(file))
		}
		return nil
	case in.taken == 0:
		_, err := fmt.Fprintln(out, "nothing to take")
		return err
	}
	in.advise(errOut)
	if dryRun {
		_, err := fmt.Fprintf(out, "%s would go into %s; nothing was written\n", count(in.taken, "server"), clean(in.file.Path))
		return err
	}
	if err := writeOwn(in.cmd, in.file, in.text); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s taken into %s\n", count(in.taken, "server"), clean(in.file.Path))
	return err
}

// advise says what a person has to know about secrets.
func (in *importer) advise(w io.Writer) {
	p := paletteFor(w)
	if in.copied && in.file.Shared() {
		fmt.Fprintf(w, "%s others can read %s, and values of env or headers may be secret\n%s chmod 600 it, or take --env-refs\n",
			p.warn("warning:"), clean(in.file.Path), p.good("hint:"))
	}
	if names := slices.Sorted(maps.Keys(in.unset)); len(names) > 0 {
		fmt.Fprintf(w, "set these variables where the gateway starts: %s\n", clean(strings.Join(names, ", ")))
	}
}
