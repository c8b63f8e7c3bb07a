package configure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"goblin-actor/actors"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/lint"
	"goblin-actor/internal/serving"
	"goblin-actor/internal/status"
)

const lintRunes = 300 // of a finding, for people

type lintOptions struct {
	path   string
	strict bool
	out    output.Format
}

// NewLint returns the command that examines the tools of a configuration's servers.
func NewLint() *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint [SERVER]…",
		Short: "Find tools that would trouble a client or a model",
		Long: `Start the servers of the configuration, or those named, and examine the tools they list: invalid schemas, changed or shortened
names, names listed twice, missing or very long descriptions, constructs that major providers reject at the top level of a
schema, invisible characters, and the weight of the list in bytes and estimated tokens. It needs no running gateway.

Tools that the configuration denies are not examined. Tokens are estimated at four bytes each. Exit code 0 also with
findings; with --strict 1 if there is a finding, or a server whose tools could not be listed.

With -o json (or yaml): "servers", each with name, tools, bytes, tokens, absent (why its tools could not be listed) and
"findings" (rule, tool, pointer, message); the number of all findings; bytes and tokens of all tools; "heaviest", up to ten.`,
		Example: `  goblin-actor lint
  goblin-actor lint files github --strict
  goblin-actor lint --config claude_desktop_config.json -o json`,
		Args: command.Args(0, -1, "names of servers"),
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd, args, o) },
	}
	cmd.Flags().StringVar(&o.path, "config", "", configfile.FlagHelp)
	cmd.Flags().BoolVar(&o.strict, "strict", false, "exit with 1 if there is any finding")
	o.out.AddFlag(cmd)
	return cmd
}

func runLint(cmd *cobra.Command, names []string, o lintOptions) error {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	path, ok := config.Find(o.path, os.Getenv)
	if !ok {
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "name one with --config")
	}
	cfg, err := configfile.Load(path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := configfile.SelectServers(cfg, names); err != nil {
		return err
	}
	servers, err := listTools(ctx, cfg)
	if err != nil {
		return err
	}
	report := lint.Check(servers)
	if err := printLint(cmd.OutOrStdout(), o.out, report); err != nil {
		return err
	}
	absent := 0
	for _, server := range report.Servers {
		if server.Absent != "" {
			absent++
		}
	}
	if !o.strict || report.Findings+absent == 0 {
		return nil
	}
	text := terminal.Count(report.Findings, "finding")
	if absent > 0 {
		text += "; the tools of " + terminal.Count(absent, "server") + " could not be listed"
	}
	return &command.Error{Code: command.ExitFailed, Err: errors.New(text)}
}

// listTools starts the servers and returns what each of them lists, in the order of the configuration.
func listTools(ctx context.Context, cfg *config.Config) (servers []lint.Server, err error) {
	trial := *cfg
	trial.Audit = config.Audit{} // no calls are made, and another gateway may be writing the log
	for i := range trial.Servers {
		trial.Servers[i].Startup = "eager"
	}
	g, err := actors.Start(&trial, actors.Options{Version: program.Version(), Log: slog.New(slog.DiscardHandler), Secrets: serving.Redactor(cfg)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, serving.Stop(g, 0)) }()
	if err := local.WaitReady(ctx, g, io.Discard); err != nil { // the report names the servers that failed
		return nil, err
	}
	s, err := g.Status(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := g.ListedTools(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, entry := range cfg.Servers {
		name := cmp.Or(entry.Group, entry.Name)
		if entry.Disabled || known[name] {
			continue
		}
		known[name] = true
		servers = append(servers, lint.Server{Name: name, Tools: local.LintTools(listed[name]), Absent: absentReason(s, name)})
	}
	return servers, nil
}

// absentReason says why the tools of a server are not known; "" = they are.
func absentReason(s *status.Snapshot, name string) string {
	for _, server := range s.Servers {
		if server.Name == name {
			if server.ReadyCount > 0 {
				return ""
			}
			return server.State + ": " + cmp.Or(server.Reason, "it is not ready yet")
		}
	}
	return "it did not start"
}

func printLint(w io.Writer, out output.Format, report lint.Report) error {
	if out != output.Table {
		raw, err := json.Marshal(report)
		if err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return out.Write(w, raw)
	}
	p := terminal.PaletteFor(w)
	for _, server := range report.Servers {
		name := terminal.OneLine(server.Name, 0)
		switch {
		case server.Absent != "":
			fmt.Fprintf(w, "%s %s: its tools could not be listed: %s\n", p.Bad("✗"), name, terminal.OneLine(server.Absent, lintRunes))
			fmt.Fprintf(w, "    to do: %s\n", program.Hint("goblin-actor doctor "+name+" explains it"))
			continue
		case len(server.Findings) == 0:
			fmt.Fprintf(w, "%s %s: %s, %s, about %s\n", p.Good("✓"), name, terminal.Count(server.Tools, "tool"), terminal.Count(server.Bytes, "byte"), terminal.Count(server.Tokens, "token"))
		default:
			fmt.Fprintf(w, "%s %s: %s, %s, about %s; %s\n", p.Warn("!"), name, terminal.Count(server.Tools, "tool"), terminal.Count(server.Bytes, "byte"), terminal.Count(server.Tokens, "token"),
				terminal.Count(len(server.Findings), "finding"))
		}
		for _, f := range server.Findings {
			fmt.Fprintf(w, "    %s\n", terminal.OneLine(findingLine(f), lintRunes))
		}
	}
	if len(report.Heaviest) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nall tools: %s, about %s; the heaviest:\n", terminal.Count(report.Bytes, "byte"), terminal.Count(report.Tokens, "token"))
	rows := make([][]string, len(report.Heaviest))
	for i, h := range report.Heaviest {
		rows[i] = []string{strconv.Itoa(h.Bytes), strconv.Itoa(h.Tokens), terminal.OneLine(h.Tool, 0)}
	}
	return output.PrintTable(w, []string{"BYTES", "TOKENS", "TOOL"}, rows)
}

func findingLine(f lint.Finding) string {
	line := f.Message
	if f.Pointer != "" {
		line = f.Pointer + ": " + line
	}
	if f.Tool == "" {
		return line
	}
	return fmt.Sprintf("tool %q: %s", terminal.OneLine(f.Tool, 64), line)
}
