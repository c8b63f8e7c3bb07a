package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// NewAudit returns the command that holds those that read the audit log.
func NewAudit() *cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "audit",
		Short: "Read the audit log: who did what, and whether the log is as it was written",
	})
	cmd.AddCommand(newAuditTail(), newAuditVerify())
	return cmd
}

// auditPath is the path of the audit log: the one that is named, or the configuration's.
func auditPath(named, configFlag string) (string, error) {
	if named != "" {
		return named, nil
	}
	path, ok := config.Find(configFlag, os.Getenv)
	if !ok {
		return "", command.UsageError("name its file, or the configuration: --config goblin.yaml", "there is no configuration that names an audit log")
	}
	cfg, report := config.Peek(path) // to read a log runs no program that the file names for something else
	if cfg != nil && strings.Contains(cfg.Audit.File, "${") {
		cfg, report = config.Salvage(path)
	}
	if cfg == nil {
		return "", command.Fail(command.ExitConfig, report.Err(), "")
	}
	if cfg.Path = configfile.Absolute(cfg.Path); cfg.Audit.File == "" {
		return "", command.Fail(command.ExitFailed, fmt.Errorf("%s names no audit log", path), "add: audit: {file: audit.jsonl}")
	}
	return cfg.AuditPath(), nil
}

// auditFlags are the flags by which the log is found.
func auditFlags(cmd *cobra.Command, configFlag *string) {
	cmd.Flags().StringVar(configFlag, "config", "", "configuration file that names the log (default: $GOBLIN_CONFIG, ./goblin.yaml, the user's config directory)")
}

// noAudit is the error of a log that is not there.
func noAudit(path string, err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return command.Fail(command.ExitFailed, fmt.Errorf("there is no audit log %s", secret.Argument(path)), "the gateway makes it when it starts: goblin-actor serve")
	}
	return command.Fail(command.ExitFailed, errors.New("read audit log: "+secret.Text(err.Error())), "")
}

// newAuditTail returns the command that prints what was done.
func newAuditTail() *cobra.Command {
	var configFlag, file, since string
	var filter audit.Filter
	var follow bool
	var last int
	var out output.Format
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print what was done, the newest at the end",
		Long: `Print what the audit log says was done: calls, denials, logins, changes of the configuration and of keys, what operators did. It reads
the file that the configuration names, and the older ones it was rotated into; no gateway has to run.

It prints every line that goblin-actor audit verify counts, including those the log writes about itself (file, checkpoint, open).
--brief leaves these out. If older lines match too, a note on stderr says so; -n N prints more.

--who takes the id of a principal (key:ci) or its name (ci); in --who, --server and --tool * stands for any characters.
--since takes a time such as 10m or 24h, a date, or a time as the log has it.
-o json prints the lines as they stand in the log; goblin-actor audit verify says whether they are what was written.`,
		Example: "  goblin-actor audit tail --who ci --since 1h\n  goblin-actor audit tail --server files --tool 'write_*' --follow",
		Args:    command.Args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 1 {
				return command.UsageError("", "-n %d: want 1 or more", last)
			}
			var err error
			if filter.Since, err = sinceTime(since, time.Now()); err != nil {
				return err
			}
			path, err := auditPath(file, configFlag)
			if err != nil {
				return err
			}
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			t := &auditPrinter{path: path, filter: filter, out: cmd.OutOrStdout(), note: cmd.ErrOrStderr(), format: out, p: terminal.PaletteFor(cmd.OutOrStdout())}
			return command.AfterWatch(ctx, t.print(ctx, last, follow))
		},
	}
	flags := cmd.Flags()
	auditFlags(cmd, &configFlag)
	flags.StringVar(&file, "file", "", "the audit log, instead of the configuration's")
	flags.StringVar(&filter.Who, "who", "", "only what this principal did")
	flags.StringVar(&filter.Server, "server", "", "only what was asked of this server")
	flags.StringVar(&filter.Item, "tool", "", "only this tool, prompt or URI, as its server calls it")
	flags.StringVar(&since, "since", "", "only what is not older")
	flags.BoolVar(&filter.Brief, "brief", false, "leave out the lines the log writes about itself: file, checkpoint, open")
	flags.BoolVarP(&follow, "follow", "f", false, "go on with what comes, until interrupted")
	flags.IntVarP(&last, "lines", "n", 20, "the last so many lines")
	out.AddFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("server", target.CompleteServers(new(string))) // there are such flags
	_ = cmd.RegisterFlagCompletionFunc("who", completeWho(&configFlag))
	return cmd
}

// sinceTime reads --since: how long ago, or a time.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, command.UsageError("write 10m, 24h, 2026-11-25 or 2026-11-25T14:00:00Z", "--since %q is no time", secret.Argument(terminal.OneLine(text, 60)))
}

// newAuditVerify returns the command that says whether the log is as it was written.
func newAuditVerify() *cobra.Command {
	var v auditVerifier
	cmd := &cobra.Command{
		Use:   "verify [FILE…]",
		Short: "Say whether the audit log is as it was written",
		Long: `Check the audit log from its first line to its last: that each line holds the hash of the one before it, over all files that it was
rotated into; that its numbers have no gap; that the signatures are the gateway's; and that it goes as far as the gateway remembers,
in its state file and, if it runs, by itself. The first line that is wrong is named, and the exit code is 1.

Without FILE it is the log that the configuration names. FILE is checked with the older files it was rotated into; of several only those.
The key of the signatures comes from --public-key, a file that holds what --print-key prints; else from the state file or the running
gateway. Keep it elsewhere: whoever can write all three can make a log of his own.`,
		Example: "  goblin-actor audit verify\n  goblin-actor audit verify --print-key > audit.pub\n  goblin-actor audit verify --public-key audit.pub /srv/copies/audit*.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := command.Interruptible(cmd)
			defer stop()
			return v.run(ctx, args, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	auditFlags(cmd, &v.config)
	flags.StringVar(&v.keyFile, "public-key", "", "file with the key of the signatures")
	flags.BoolVar(&v.printKey, "print-key", false, "print the key of the signatures, and check nothing")
	local.StateDirFlag(cmd, &v.stateDir)
	return cmd
}

// sameLog reports whether two paths are of one log.
func sameLog(a, b string) bool {
	a, aErr := filepath.Abs(a)
	b, bErr := filepath.Abs(b)
	return aErr == nil && bErr == nil && a == b
}
