package report

import (
	"bytes"
	"strings"
	"testing"
)

// checkWidth checks that every line of the report's table fits a terminal, and returns the table.
func checkWidth(t *testing.T, report *Report) string {
	t.Helper()
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(table.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > tableWidth {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	return table.String()
}
