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
)

// NewAdd returns the command that writes one more server into the configuration.
func NewAdd() *cobra.Command {
	var path, kind, cwd string
	var env, headers []string
	var lazy bool
	var then applying
	cmd := &cobra.Command{
		Use:   "add NAME [--env K=V]… -- COMMAND [ARG]…, or: add NAME URL",
		Short: "Write one more server into the configuration",
		Long: `Write one more server into the configuration, at the end of mcpServers. Comments, order and style of the file
stay as they are; where there is no configuration, ./goblin.yaml is begun, with a JSON Schema for editors beside it.
A gateway that runs with this file starts the server at once; the command waits for that and says what became of it.
If the server does not start, the command asks at a terminal whether to keep the entry; --keep and --keep=false answer
beforehand.

Values are written as they are: ${TOKEN} in single quotes is looked up when the server starts, so that no secret
stands in the file.`,
		Example: `  goblin-actor add files -- npx -y @modelcontextprotocol/server-filesystem /srv/notes
  goblin-actor add issues https://example.org/mcp --header 'Authorization: Bearer ${ISSUES_TOKEN}'`,
		Args: command.Args(2, -1, "a name, and a URL or behind -- a command"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := entryFrom(cmd, args)
			if err != nil {
				return err
			}
			e.Type, e.Cwd, e.Lazy = kind, cwd, lazy
			if e.Env, err = pairs("--env", "=", env); err != nil {
				return err
			}
			if e.Headers, err = pairs("--header", ":", headers); err != nil {
				return err
			}
			if e.URL != "" && len(e.Env)+len(cwd) > 0 || e.Command != "" && len(e.Headers) > 0 {
				return command.UsageError("", "--env and --cwd are for a command, --header is for a URL")
			}
			return addEntry(cmd, path, e, &then)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return command.UsageError("flags of the server's command stand behind --: goblin-actor add NAME -- COMMAND -y …", "%w", err)
	})
	flags := cmd.Flags()
	flags.StringVar(&path, "config", "", configfile.FlagHelp)
	flags.StringArrayVar(&env, "env", nil, "variable of the command, NAME=VALUE (may be given several times)")
	flags.StringArrayVar(&headers, "header", nil, "header sent to the URL, 'NAME: VALUE' (may be given several times)")
	flags.StringVar(&kind, "type", "", "how to speak to it: http, sse or stdio (default: found out)")
	flags.StringVar(&cwd, "cwd", "", "working directory of the command")
	flags.Bool("keep", true, "keep the entry of a server that does not start; =false removes it again (default: ask at a terminal, else keep)")
	flags.BoolVar(&lazy, "lazy", false, "start it with its first call, not with the gateway (startup: lazy)")
	then.flags(cmd)
	return cmd
}

// entryFrom reads the name and what is to be run or reached.
func entryFrom(cmd *cobra.Command, args []string) (config.Entry, error) {
	e := config.Entry{Name: config.Slug(args[0])}
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash == 0 || dash > 1:
		return e, command.UsageError("usage: "+cmd.UseLine(), "before -- stands the name alone")
	case dash < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
		e.URL = args[1]
	default:
		e.Command, e.Args = args[1], args[2:]
	}
	if e.Name != args[0] {
		fmt.Fprintf(cmd.ErrOrStderr(), "it is called %s: names are lower-case letters, digits and -\n", e.Name)
	}
	return e, nil
}

// pairs cuts words at the first separator.
func pairs(flag, separator string, words []string) ([]config.Variable, error) {
	var list []config.Variable
	for _, word := range words {
		name, value, ok := strings.Cut(word, separator)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, command.UsageError("write "+flag+" 'NAME"+separator+"VALUE'", "%s without NAME%sVALUE", flag, separator)
		}
		same := func(v config.Variable) bool { return v.Name == name }
		if separator == ":" { // a header, whose capitals make no difference
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			same = func(v config.Variable) bool { return strings.EqualFold(v.Name, name) }
		}
		if slices.ContainsFunc(list, same) {
			return nil, command.UsageError("give it once", "%s %s is given twice", flag, name)
		}
		list = append(list, config.Variable{Name: name, Value: value})
	}
	return list, nil
}

func addEntry(cmd *cobra.Command, path string, e config.Entry, then *applying) error {
	f, err := configfile.Open(path, true)
	if err != nil {
		return err
	}
	text, err := config.AddServer(f.Path, f.Text, e)
	if errors.Is(err, config.ErrTaken) {
		return command.Fail(command.ExitFailed, fmt.Errorf("%s: %w", f.Path, err), "choose another name, or goblin-actor remove "+e.Name)
	}
	if err != nil {
		return configfile.EditError(cmd, f, err)
	}
	err = changeOwn(cmd, f, text, "added "+e.Name+" to", then, wish{server: e.Name, runs: true})
	if err != nil && then.failed {
		return afterFailedAdd(cmd, f.Path, e.Name, err)
	}
	return err
}
