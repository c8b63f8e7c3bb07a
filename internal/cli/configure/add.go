package configure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/config"
	"goblin-actor/internal/rollout"
)

// NewAdd returns the add command.
func NewAdd() *cobra.Command {
	var path, kind, cwd, run string
	var env, headers []string
	var lazy bool
	var gateway rolloutFlags
	cmd := &cobra.Command{
		Use:   "add NAME [--env K=V]… -- COMMAND [ARG]…, or: add NAME URL",
		Short: "Add a server to the configuration",
		Long: `Add a server to the end of mcpServers in the configuration. Comments, order and formatting of the file are preserved. If
there is no configuration, the command creates ./goblin.yaml and, next to it, a JSON Schema for editors.

A gateway that runs with this file starts the server at once. The command waits and prints the result. If the server does
not start, the command keeps the entry, or on a terminal asks whether to keep it. Use --keep or --keep=false to decide
without being asked.

Values are stored as you write them. Put ${TOKEN} in single quotes, so that your shell does not expand it. The gateway replaces it
when it loads the configuration, so the secret is not stored in the file.`,
		Example: `  goblin-actor add files -- npx -y @modelcontextprotocol/server-filesystem /srv/notes
  goblin-actor add issues https://example.org/mcp --header 'Authorization: Bearer ${ISSUES_TOKEN}'`,
		Args: command.Args(2, -1, "a name, and a URL or a command after --"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := entryFrom(cmd, args)
			if err != nil {
				return err
			}
			e.Type, e.Cwd, e.Run, e.Lazy = kind, cwd, run, lazy
			if e.Env, err = pairs("--env", "=", env); err != nil {
				return err
			}
			if e.Headers, err = pairs("--header", ":", headers); err != nil {
				return err
			}
			if e.URL != "" && len(e.Env)+len(cwd) > 0 || e.Command != "" && len(e.Headers) > 0 {
				return command.UsageError("", "--env and --cwd require a command, --header requires a URL")
			}
			return addEntry(cmd, path, e, &gateway)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return command.UsageError("put the server's command and its flags after --: goblin-actor add NAME -- COMMAND -y …", "%w", err)
	})
	flags := cmd.Flags()
	flags.StringVar(&path, "config", "", configfile.FlagHelp)
	flags.StringArrayVar(&env, "env", nil, "environment variable of the command, NAME=VALUE (repeatable)")
	flags.StringArrayVar(&headers, "header", nil, "header sent to the URL, 'NAME: VALUE' (repeatable)")
	flags.StringVar(&kind, "type", "", "transport: http, sse or stdio (default: detect)")
	flags.StringVar(&run, "run", "", "where the server runs in a cluster: each, one or the name of a node")
	flags.StringVar(&cwd, "cwd", "", "working directory of the command")
	flags.Bool("keep", true, "keep the entry if the server does not start; --keep=false removes it (default: ask on a terminal, otherwise keep)")
	flags.Lookup("keep").DefValue = "false" // prevents the addition "(default true)"
	flags.BoolVar(&lazy, "lazy", false, "start the server on its first call instead of with the gateway (startup: lazy)")
	gateway.add(cmd)
	return cmd
}

// entryFrom reads the name and the command or URL from the arguments.
func entryFrom(cmd *cobra.Command, args []string) (config.Entry, error) {
	e := config.Entry{Name: config.Slug(args[0])}
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash == 0 || dash > 1:
		return e, command.UsageError("usage: "+cmd.UseLine(), "only the name may precede --")
	case dash < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
		e.URL = args[1]
	default:
		e.Command, e.Args = args[1], args[2:]
	}
	if e.Name != args[0] {
		fmt.Fprintf(cmd.ErrOrStderr(), "the server is added as %s: names contain only lower-case letters, digits and -\n", e.Name)
	}
	return e, nil
}

// pairs splits each word into a name and a value at the first separator. A name may occur only once.
func pairs(flag, separator string, words []string) ([]config.Variable, error) {
	var list []config.Variable
	for _, word := range words {
		name, value, ok := strings.Cut(word, separator)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, command.UsageError("use "+flag+" 'NAME"+separator+"VALUE'", "%s: expected NAME%sVALUE", flag, separator)
		}
		same := func(v config.Variable) bool { return v.Name == name }
		if separator == ":" { // names of headers are case-insensitive
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			same = func(v config.Variable) bool { return strings.EqualFold(v.Name, name) }
		}
		if slices.ContainsFunc(list, same) {
			return nil, command.UsageError("pass each name once", "%s %s is given twice", flag, name)
		}
		list = append(list, config.Variable{Name: name, Value: value})
	}
	return list, nil
}

// addEntry adds the entry to the file and waits until the running gateway has applied the change. If the server fails
// to start, afterFailedAdd decides about the entry.
func addEntry(cmd *cobra.Command, path string, e config.Entry, gateway *rolloutFlags) error {
	f, err := configfile.Open(path, true)
	if err != nil {
		return err
	}
	text, err := config.AddServer(f.Path, f.Text, e)
	if errors.Is(err, config.ErrTaken) {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), "use another name, or run goblin-actor remove "+e.Name)
	}
	if err != nil {
		return configfile.EditError(cmd, f, err)
	}
	err = gateway.save(cmd, f, text, "added "+e.Name+" to", rollout.Change{Server: e.Name, Runs: true})
	if err != nil && gateway.failed {
		return afterFailedAdd(cmd, f.Path, e.Name, err)
	}
	return err
}
