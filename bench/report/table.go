package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// columns returns the titles of a table whose ratios are relative to base.
func columns(base string) []string {
	return []string{"target", "clients", "calls/s", "p50 µs", "p99 µs", "× " + cmp.Or(base, Direct), "× proxy", "CPU µs/call", "allocs/call", "RSS MiB", "broken"}
}

func (r Row) cells() []string {
	return []string{r.Target, fmt.Sprint(r.Concurrency), fmt.Sprintf("%.0f", r.PerSecond), fmt.Sprintf("%.1f", r.P50), fmt.Sprintf("%.1f", r.P99),
		number("%.2f", r.ToBase), number("%.2f", r.ToProxy), number("%.1f", r.CPU), number("%.1f", r.Mallocs), number("%.1f", r.RSS), number("%.0f", float64(r.Broken))}
}

// number formats v, or returns "–" if v is 0.
func number(format string, v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// table returns the title line and the rows of a report with one table.
func (r *Report) table() [][]string {
	if r.Idle != nil {
		return r.Idle.table()
	}
	if r.Fanout != nil {
		return r.Fanout.table()
	}
	if r.Faults != nil {
		return r.Faults.table()
	}
	if r.Limits != nil {
		return r.Limits.table()
	}
	if r.Cluster != nil {
		return r.Cluster.table()
	}
	rows := [][]string{columns(r.Base)}
	for _, row := range r.Rows {
		rows = append(rows, row.cells())
	}
	return rows
}

// tables returns all tables of the report.
func (r *Report) tables() [][][]string {
	if r.Cold != nil {
		return r.Cold.tables()
	}
	if r.Growth != nil {
		return r.Growth.tables()
	}
	return [][][]string{r.table()}
}

// WriteTable writes the tables for a terminal.
func (r *Report) WriteTable(w io.Writer) error {
	if r.Limits != nil {
		var text bytes.Buffer
		r.Limits.Write(&text)
		_, err := text.WriteTo(w)
		return err
	}
	for i, table := range r.tables() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range table {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
