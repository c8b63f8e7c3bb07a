package benchmark

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goblin-actor/bench/report"
	"goblin-actor/internal/cli/command"
	"goblin-actor/internal/cli/program"
	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/secret"
)

// benchOutput is what becomes of a report, for every bench command.
type benchOutput struct {
	dir      string
	asserted []string
}

// flags adds --out and --assert.
func (o *benchOutput) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "out", "", "directory for report.json, report.md and plots")
	cmd.Flags().StringArrayVar(&o.asserted, "assert", nil, "what must hold, else the exit code is 1, as in 'ratio(calls,c=64) >= 1.6' (may be given several times)")
}

// assertions parses what must hold of a report that a run with these options makes. All faults are named at once.
func (o *benchOutput) assertions(cmd *cobra.Command, kind string, concurrency []int) ([]report.Assertion, error) {
	var all []report.Assertion
	for _, text := range o.asserted {
		a, err := report.ParseAssertion(text)
		if err == nil {
			err = a.Fits(kind, concurrency)
		}
		if err != nil {
			return nil, command.UsageError(command.HelpHint(cmd), "%w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// finish saves and prints a report and what became of the assertions, of which each must hold.
func (o *benchOutput) finish(cmd *cobra.Command, result *report.Report, assertions []report.Assertion) error {
	verdicts, err := o.save(result, assertions)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := result.WriteTable(&text); err != nil {
		return err
	}
	for _, v := range verdicts {
		fmt.Fprintln(&text, v)
	}
	for line := range strings.Lines(text.String()) { // names are those that servers gave
		fmt.Fprintln(cmd.OutOrStdout(), terminal.Clean(strings.TrimSuffix(line, "\n")))
	}
	return held(verdicts)
}

// save checks the assertions, and writes the report with them.
func (o *benchOutput) save(result *report.Report, assertions []report.Assertion) ([]report.Verdict, error) {
	verdicts := result.Check(assertions)
	if o.dir == "" {
		return verdicts, nil
	}
	return verdicts, result.Save(o.dir)
}

// held is the exit code of what became of assertions.
func held(verdicts []report.Verdict) error {
	for _, v := range verdicts {
		if !v.Holds {
			return &command.Error{Code: command.ExitFailed}
		}
	}
	return nil
}

// benchCommand is the command line as a shell takes it, for the report.
func benchCommand(args []string) string {
	return "goblin-actor " + program.ShellWords(secret.Arguments(args), runtime.GOOS)
}

// benchProgress has a bar on a terminal, under the lines that a pipe gets alone.
type benchProgress struct {
	bar *terminal.ProgressBar
	w   io.Writer
}

func newBenchProgress(w io.Writer) *benchProgress {
	return &benchProgress{terminal.NewProgressBar(w), w}
}

// Write writes whole lines.
func (p *benchProgress) Write(text []byte) (int, error) {
	p.bar.Aside(func() { _, _ = p.w.Write(bytes.Clone(text)) })
	return len(text), nil
}

// Step draws the bar.
func (p *benchProgress) Step(done, all int) {
	if p.bar.Live {
		p.bar.Show(client.Progress{Done: float64(done), Total: float64(all)})
	}
}

func newBenchCompare() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two reports of bench",
		Long: `compare puts two reports beside each other: medians of the rounds with their 95 % confidence interval, and by how much B is
more or less than A where a Mann-Whitney test tells the difference from chance (p < 0.05), else "~". A and B are each a report.json,
or a directory: the reports in it, and in the directories in it, then count as one. Other machines and commands are named.

Numbers that were measured one after the other differ on a machine that others use as well, whatever was measured: look at "× base"
first, or have both measured in turn (make bench-compare).`,
		Example: `  goblin-actor bench calls --self --out before
  goblin-actor bench calls --self --gateway ./changed --out after
  goblin-actor bench compare before after`,
		Args: command.Args(2, 2, "two reports"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var sides [2][]*report.Report
			for i, path := range args {
				reports, err := report.Load(path)
				if err != nil {
					return err
				}
				sides[i] = reports
			}
			c, err := report.Compare(sides[0], sides[1])
			if err != nil {
				return err
			}
			return c.WriteTable(cmd.OutOrStdout())
		},
	}
}
