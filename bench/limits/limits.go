package limits

import (
	"context"
	"fmt"
	"io"

	"goblin-actor/bench/process"
	"goblin-actor/bench/report"
)

// Run increases the load of each server and era until throughput stops growing, and returns the report. It blocks until
// it is done or ctx ends, and stops all processes that it started. For each series, it writes a line to notes that
// names the tool it calls. If something other than clients or rate is raised, it writes a line for each amount instead.
func Run(ctx context.Context, o Options, notes io.Writer) (*report.Report, error) {
	o = o.Default()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	group, err := process.NewGroup(ctx, o.Program, "")
	if err != nil {
		return nil, err
	}
	defer group.Close()
	s := &limits{Group: group, ctx: ctx, o: o, notes: notes, found: &report.Limits{P99: float64(o.P99.Microseconds())}}
	report := report.New("limits", o.Command, o.Commit)
	report.Limits = s.found
	if ladders[o.Raise] != nil {
		return report, s.raise()
	}
	climbs, err := s.climbs()
	if err != nil {
		return nil, err
	}
	for i, c := range climbs {
		fmt.Fprintf(notes, "%s: calls %s\n", c.title(), c.tool.Name)
		if err := s.climb(c, i, len(climbs)); err != nil {
			return nil, err
		}
		s.found.Series = append(s.found.Series, c.series)
	}
	return report, nil
}

// limits is the state of one Run.
type limits struct {
	*process.Group
	ctx   context.Context
	o     Options
	notes io.Writer
	found *report.Limits
}
