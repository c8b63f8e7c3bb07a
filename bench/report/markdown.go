package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// markdown returns report.md, which includes the pictures.
func (r *Report) markdown(pictures []picture) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# bench %s\n\n", r.Kind)
	fmt.Fprintf(&b, "- command: `%s`\n- commit: %s\n- when: %s\n- machine: %s/%s, %d cores, %s, %s\n", r.Command, r.Commit,
		r.When.Format(time.RFC3339), r.Machine.OS, r.Machine.Arch, r.Machine.Cores, r.Machine.CPU, r.Machine.Go)
	if r.Rounds > 0 {
		fmt.Fprintf(&b, "- each target at each concurrency: %g s in %d interleaved rounds; responses of %d bytes, each compared byte for byte\n",
			r.Seconds, r.Rounds, r.Bytes)
	}
	switch {
	case r.Limits != nil:
		b.WriteString("\n" + limitLegend + "\n\n")
	case r.Rounds > 0:
		b.WriteString("\nRates and ratios are medians of rounds. CPU, allocations and RSS are those of the target's process.\n\n")
	default:
		b.WriteString("\ndocs/bench.md explains the columns.\n\n")
	}
	for n, table := range r.tables() {
		if n > 0 {
			b.WriteByte('\n')
		}
		for i, row := range table {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
			}
		}
	}
	for i, v := range r.Claims {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", v)
	}
	if r.Limits != nil {
		r.Limits.markdown(&b)
	}
	for _, p := range pictures {
		fmt.Fprintf(&b, "\n![%s](%s)\n", p.title, p.file)
	}
	return b.Bytes()
}

// Save writes report.json, report.md and its plots to dir and creates dir if needed.
func (r *Report) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "report.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	pictures := r.pictures()
	for _, p := range pictures {
		if err := os.WriteFile(filepath.Join(dir, p.file), p.svg, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "report.md"), r.markdown(pictures), 0o644)
}
