package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/configfile"
	"goblin-actor/internal/cli/local"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cli/target"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
)

// NewAudit returns the audit command, which groups the commands about the audit log.
func NewAudit() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "audit",
		Short: "Read or verify the audit log",
	})
	cmd.AddCommand(newAuditTail(), newAuditVerify())
	return cmd
}

// auditPath returns the path of the audit log: the parameter named, or if that is "", the path in the configuration.
func auditPath(named, configFlag string) (string, error) {
	if named != "" {
		return named, nil
	}
	path, ok := config.Find(configFlag, os.Getenv)
	if !ok {
		return "", command.UsageError("pass the file of the log, or pass the configuration with --config", "no configuration was found, so the audit log is unknown")
	}
	cfg, report := config.Peek(path) // does not run the programs that fetch secrets for the configuration
	if cfg != nil && strings.Contains(cfg.Audit.File, "${") {
		cfg, report = config.Salvage(path)
	}
	if cfg == nil {
		return "", command.Fail(command.ExitConfig, report.Err(), "")
	}
	if cfg.Path = configfile.Absolute(cfg.Path); cfg.Audit.File == "" {
		return "", command.Fail(command.ExitFailed, fmt.Errorf("%s configures no audit log", path), "add audit: {file: audit.jsonl} to the configuration")
	}
	return cfg.AuditPath(), nil
}

// auditFlags adds --config, which selects the log.
func auditFlags(cmd *cobra.Command, configFlag *string) {
	cmd.Flags().StringVar(configFlag, "config", "", "configuration file that names the log (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
}

// noAudit returns the error for a log that is missing or cannot be read. A nil err means that the log has no files.
func noAudit(path string, err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return command.Fail(command.ExitFailed, fmt.Errorf("the audit log %s does not exist", secret.Argument(path)), "start the gateway, which creates the log: goblin-actor serve")
	}
	return command.Fail(command.ExitFailed, errors.New("read audit log: "+secret.Text(err.Error())), "")
}

// newAuditTail returns the command audit tail.
func newAuditTail() *cobra.Command {
	var file, since string
	var from auditLogs
	var filter audit.Filter
	var follow bool
	var last int
	var out output.Format
	cmd := &cobra.Command{
		Use:   "tail [FILE…]",
		Short: "Print the audit log, newest entries last",
		Long: `Print calls, denials, logins, changes to the configuration and to keys, and operator actions from the audit log. The command
reads the file named in the configuration and the older files it was rotated into; no running gateway is needed.

With --nodes, print the lines of all nodes of a cluster in chronological order, with a column for the node. The command asks a
running gateway on this machine, which asks the other nodes. Or pass the FILEs of several nodes. With --follow, new lines are
printed half a second later, in case another node has an earlier one.

The newest 20 matching lines are printed, or with -n N the newest N. They include those that the log writes about itself
(file, checkpoint, open, witness); --brief omits these. If older lines match too, a note on stderr says so, except with
--follow.

--who accepts the ID of a principal (key:ci) or its name (ci). In --who, --server and --tool, * matches any characters.
--since accepts a duration such as 10m or 24h, a date, or a time. -o json prints the lines of the log with invisible characters
escaped; goblin-actor audit verify checks that the log is unchanged.`,
		Example: "  goblin-actor audit tail --who ci --since 1h\n  goblin-actor audit tail --server files --tool 'write_*' --follow\n  goblin-actor audit tail --follow a.jsonl b.jsonl c.jsonl\n  goblin-actor audit tail --nodes --follow",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if filter.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			if from.files = args; file != "" {
				from.files = append([]string{file}, args...)
			}
			if err := from.check(last); err != nil {
				return err
			}
			t := &auditPrinter{out: cmd.OutOrStdout(), note: cmd.ErrOrStderr(), format: out, p: terminal.PaletteFor(cmd.OutOrStdout())}
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			if err := t.open(ctx, from, filter); err != nil {
				return err
			}
			return command.AfterWatch(ctx, t.print(ctx, last, follow))
		},
	}
	flags := cmd.Flags()
	auditFlags(cmd, &from.config)
	flags.StringVar(&file, "file", "", "audit log to read, like FILE (default: audit.file of the configuration)")
	flags.BoolVar(&from.nodes, "nodes", false, "print the logs of all nodes of the cluster")
	target.ConnectFlag(cmd, &from.connect)
	filterFlags(flags, &filter)
	flags.StringVar(&since, "since", "", "only entries since this time: a duration before now, a date or a time")
	flags.BoolVarP(&follow, "follow", "f", false, "print new entries until interrupted")
	flags.IntVarP(&last, "lines", "n", 20, "number of lines to print")
	out.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("server", target.CompleteServers(new(string))) // cannot fail: the flag exists
	_ = cmd.RegisterFlagCompletionFunc("who", completeWho(&from.config))
	return cmd
}

// filterFlags adds the flags that select lines, except --since.
func filterFlags(flags *pflag.FlagSet, filter *audit.Filter) {
	flags.StringVar(&filter.Who, "who", "", "only entries of this principal")
	flags.StringVar(&filter.Server, "server", "", "only entries of this server")
	flags.StringVar(&filter.Item, "tool", "", "only entries of this tool, prompt or URI, as its server names it")
	flags.BoolVar(&filter.Brief, "brief", false, "omit the lines that the log writes about itself: file, checkpoint, open, witness")
}

// sinceTime parses the value of --since: a duration before now, a date or a time. It returns the zero time if text is
// empty.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if d, ok := longDuration(text); ok {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, command.UsageError("use a value such as 10m, 24h, 7d, 2026-11-25 or 2026-11-25T14:00:00Z", "--since %q: expected a duration or a time", secret.Argument(terminal.OneLine(text, 60)))
}

// newAuditVerify returns the command audit verify.
func newAuditVerify() *cobra.Command {
	var v auditVerifier
	cmd := &cobra.Command{
		Use:   "verify [[NODE=]FILE…]",
		Short: "Verify that the audit log is unchanged",
		Long: `Verify the audit log from the first line to the last. The log is valid if:

  - each line contains the hash of the previous line, across rotated files
  - line numbers have no gaps
  - the signatures are valid
  - the log is at least as long as the gateway's state file and the running gateway say

The first invalid line is reported, and the exit code is 1.

Without FILE, the log named in the configuration is verified. A single FILE is verified with the older files it was rotated
into. Several FILEs of one log are verified in the given order; their number of lines is not compared with the recorded one.

Pass the FILEs of all nodes of a cluster to verify each log, and then what each node's log quotes of the others. A log whose
end was removed, or that was replaced by an older copy, lacks lines that other nodes quote. NODE=FILE also requires that the
file is of that node.

The public key is read from --public-key (the output of --print-key), otherwise from the state file or the running gateway,
otherwise from the log itself. For several nodes, --print-key prints the name of each node and its key. Keep a copy of the
keys on another machine: an attacker who can write the log, the state file and the key file can forge the log.`,
		Example: "  goblin-actor audit verify\n  goblin-actor audit verify --print-key > audit.pub\n  goblin-actor audit verify --public-key audit.pub /srv/copies/audit*.jsonl\n  goblin-actor audit verify a.jsonl b.jsonl c.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			return v.run(ctx, args, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	auditFlags(cmd, &v.config)
	flags.StringVar(&v.keyFile, "public-key", "", "file with the public key of the signatures")
	flags.BoolVar(&v.printKey, "print-key", false, "print the public key and exit")
	flags.StringArrayVar(&v.without, "without", nil, "node of a cluster whose log no longer exists, and is not expected")
	local.StateDirFlag(cmd, &v.stateDir)
	return cmd
}

// sameLog reports whether two paths are equal once they are absolute. It does not resolve symbolic links.
func sameLog(a, b string) bool {
	a, aErr := filepath.Abs(a)
	b, bErr := filepath.Abs(b)
	return aErr == nil && bErr == nil && a == b
}
