package backend

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"goblin-actor/actors/message"
)

var update = flag.Bool("update", false, "write the table of transitions into docs/actors.md")

// order lists all phases in the order of the table.
var order = []message.Phase{message.Idle, message.Connecting, message.Handshaking, message.Syncing, message.Ready, message.Waiting,
	message.Draining, message.NeedsLogin, message.Misconfigured, message.Stopped}

// docs/actors.md contains the current table of transitions.
func TestTransitionsInTheDocs(t *testing.T) {
	const file, begin, end = "../../docs/actors.md", "<!-- transitions -->\n", "<!-- /transitions -->"
	var table strings.Builder
	table.WriteString("| from | to |\n|---|---|\n")
	listed := 0
	for _, from := range order {
		to, ok := transitions[from]
		if !ok {
			continue
		}
		listed++
		var words []string
		for _, p := range to {
			words = append(words, string(p))
			if _, known := transitions[p]; !known {
				t.Errorf("%s → %s: no such phase", from, p)
			}
		}
		fmt.Fprintf(&table, "| %s | %s |\n", from, strings.Join(words, ", "))
	}
	if listed != len(transitions) {
		t.Errorf("%d phases in order, %d in transitions", listed, len(transitions))
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
		t.Errorf("%s is out of date; run go test ./actors/backend -run Docs -update", file)
	}
}
