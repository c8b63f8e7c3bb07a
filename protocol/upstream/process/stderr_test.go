package process

import (
	"fmt"
	"slices"
	"testing"
)

// The frames of a stack trace do not displace the error above them.
func TestStderrTailKeepsTheError(t *testing.T) {
	var tail stderrTail
	for i := range 50 {
		tail.Add(fmt.Sprint("line ", i))
	}
	tail.Add("Error: no token")
	for i := range 100 {
		tail.Add(fmt.Sprintf("    at frame%d (index.js)", i))
	}
	tail.Add("Node.js v20")
	lines := tail.lines()
	if len(lines) != stderrLines || !slices.Contains(lines, "Error: no token") || lines[len(lines)-1] != "Node.js v20" || slices.Contains(lines, "line 30") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
