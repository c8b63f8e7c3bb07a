package token

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of a login's phases into docs/actors.md")

// order lists the phases in the order in which a login passes through them.
var order = []phase{none, discovering, needsLogin, refreshing, fresh, stale}

// docs/actors.md contains the current table of transitions.
func TestPhasesInTheDocs(t *testing.T) {
	const file, begin, end = "../../docs/actors.md", "<!-- token phases -->\n", "<!-- /token phases -->"
	var table strings.Builder
	table.WriteString("| from | to |\n|---|---|\n")
	for _, from := range order {
		var words []string
		for _, to := range order {
			if slices.Contains(transitions[from], to) {
				words = append(words, string(to))
			}
		}
		if len(words) != len(transitions[from]) {
			t.Errorf("transitions[%s] names an unknown phase", from)
		}
		fmt.Fprintf(&table, "| %s | %s |\n", from, strings.Join(words, ", "))
	}
	if len(order) != len(transitions) {
		t.Errorf("%d phases in order, %d in transitions", len(order), len(transitions))
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marker for the table", file)
	}
	want := head + begin + table.String() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("%s is out of date; run go test ./actors/token -run Docs -update", file)
	}
}
