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

// benchOutput holds the output flags of every bench command that measures.
type benchOutput struct {
	dir      string
	asserted []string
}

// flags adds --out and --assert.
func (o *benchOutput) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.dir, "out", "", "directory for report.json, report.md and plots")
	cmd.Flags().StringArrayVar(&o.asserted, "assert", nil, "an assertion that must hold, else the exit code is 1: 'ratio(calls,c=64) >= 1.6' (may be given several times)")
}

// assertions parses the assertions and checks that a run of this kind can decide them. It returns the first error, as a
// usage error.
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

// finish saves and prints a report and the results of the assertions. It returns an error if an assertion does not hold.
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
	for line := range strings.Lines(text.String()) { // names come from servers
		fmt.Fprintln(cmd.OutOrStdout(), terminal.Clean(strings.TrimSuffix(line, "\n")))
	}
	return held(verdicts)
}

// save checks the assertions and writes the report with the results.
func (o *benchOutput) save(result *report.Report, assertions []report.Assertion) ([]report.Verdict, error) {
	verdicts := result.Check(assertions)
	if o.dir == "" {
		return verdicts, nil
	}
	return verdicts, result.Save(o.dir)
}

// held returns an error with the exit code 1 if an assertion does not hold.
func held(verdicts []report.Verdict) error {
	for _, v := range verdicts {
		if !v.Holds {
			return &command.Error{Code: command.ExitFailed}
		}
	}
	return nil
}

// benchCommand returns the command line for the report, quoted for a shell and without secrets.
func benchCommand(args []string) string {
	return "goblin-actor " + program.ShellWords(secret.Arguments(args), runtime.GOOS)
}

// benchProgress writes lines. On a terminal it draws a progress bar below them.
type benchProgress struct {
	bar *terminal.ProgressBar
	w   io.Writer
}

func newBenchProgress(w io.Writer) *benchProgress {
	return &benchProgress{terminal.NewProgressBar(w), w}
}

// Write writes text, which must consist of whole lines.
func (p *benchProgress) Write(text []byte) (int, error) {
	p.bar.Aside(func() { _, _ = p.w.Write(bytes.Clone(text)) })
	return len(text), nil
}

// Step updates the bar. It does nothing if w is not a terminal.
func (p *benchProgress) Step(done, all int) {
	if p.bar.Live {
		p.bar.Show(client.Progress{Done: float64(done), Total: float64(all)})
	}
}

func newBenchCompare() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two bench reports",
		Long: `compare shows the medians of the rounds of two reports with their 95 % confidence intervals, and the difference between B and A if a
Mann-Whitney test finds it significant (p < 0.05), else "~". A and B are each a report.json or a directory. The
reports in a directory and its immediate subdirectories are pooled. compare warns if machines or commands differ.

Background load affects measurements that ran at different times. Look at "× base" first, or measure both builds alternately
(make bench-compare).`,
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
