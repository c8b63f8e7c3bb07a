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

const lintRunes = 300 // maximum length of a finding in the table format

type lintOptions struct {
	path   string
	strict bool
	out    output.Format
}

// NewLint returns the lint command.
func NewLint() *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint [SERVER]…",
		Short: "Find problems in the tool definitions of servers",
		Long: `Start the servers in the configuration, or only those named, and check the tools they list for invalid schemas, changed or
shortened names, duplicate names, missing or very long descriptions, constructs that major providers reject at the top level
of a schema, and invisible characters. Report the size of the lists in bytes and estimated tokens. No running gateway is
needed.

Tools that the configuration denies are not checked. A token is assumed to have four bytes. The exit code is 0 even if there
are findings; with --strict it is 1 if there is a finding or if a server's tools could not be listed.

With -o json or -o yaml, the report contains "servers" (name, tools, bytes, tokens, absent: why the tools could not be
listed, and findings with rule, tool, pointer and message), the total number of findings, bytes and tokens, and "heaviest",
the ten largest tools.`,
		Example: `  goblin-actor lint
  goblin-actor lint files github --strict
  goblin-actor lint --config claude_desktop_config.json -o json`,
		Args: command.Args(0, -1, "server names"),
		RunE: func(cmd *cobra.Command, args []string) error { return runLint(cmd, args, o) },
	}
	cmd.Flags().StringVar(&o.path, "config", "", configfile.FlagHelp)
	cmd.Flags().BoolVar(&o.strict, "strict", false, "exit with code 1 if there are findings, or if the tools of a server could not be listed")
	o.out.AddFlag(cmd)
	return cmd
}

// runLint checks the tools and prints the report.
func runLint(cmd *cobra.Command, names []string, o lintOptions) error {
	ctx, stop := command.Interruptible(cmd)
	defer stop()
	path, ok := config.Find(o.path, os.Getenv)
	if !ok {
		return command.Fail(command.ExitFailed, errors.New("no configuration found"), "specify a file with --config")
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

// listTools starts the servers and returns their tools, in the order of the configuration.
func listTools(ctx context.Context, cfg *config.Config) (servers []lint.Server, err error) {
	trial := *cfg
	trial.Audit = config.Audit{} // lint calls no tools, and a running gateway may be writing to the log
	for i := range trial.Servers {
		trial.Servers[i].Startup = "eager"
	}
	g, err := actors.Start(&trial, actors.Options{Version: program.Version(), Log: slog.New(slog.DiscardHandler), Secrets: serving.Redactor(cfg)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, serving.Stop(g, 0)) }()
	if err := local.WaitReady(ctx, g, io.Discard); err != nil { // the report lists the servers that failed
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

// absentReason returns why the tools of a server are unknown, or "" if they are known.
func absentReason(s *status.Snapshot, name string) string {
	for _, server := range s.Servers {
		if server.Name == name {
			if server.ReadyCount > 0 {
				return ""
			}
			return server.State + ": " + cmp.Or(server.Reason, "not ready yet")
		}
	}
	return "the server did not start"
}

// printLint prints the report.
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
			fmt.Fprintf(w, "    fix: %s\n", program.Hint("run goblin-actor doctor "+name))
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
	fmt.Fprintf(w, "\nall tools: %s, about %s; the largest:\n", terminal.Count(report.Bytes, "byte"), terminal.Count(report.Tokens, "token"))
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
