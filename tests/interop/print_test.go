package interop

import (
	"flag"
	"fmt"
	"slices"
	"strings"
)

var (
	update   = flag.Bool("update", false, "write the matrix into docs/protocol.md")
	all      = flag.Bool("all", false, "let the Python clients talk to the servers of all Python libraries over Streamable HTTP, not only to a selection")
	bridge   = flag.Bool("bridge", false, "let clients over the bridge talk to all servers of the matrix, not only to some")
	balancer = flag.String("balancer", "", "run the tests against a cluster behind this balancer: nginx, nginx-new, haproxy or haproxy-new (new: with a new connection for each request)")
	external = flag.Bool("nats", false, "with -balancer, let the nodes use an external nats-server")
	only     = flag.String("only", "", "run only the cells whose name matches this regular expression; a name is \"client version over way with server\" in TestMatrix and \"client with server\" elsewhere")
)

const (
	matrixBegin = "<!-- matrix: go test ./tests/interop -run TestMatrix -update -->\n"
	matrixEnd   = "<!-- end of matrix -->\n"
)

// printed formats the matrix: a row per server, a column per client, and the letters of the limits that apply.
func printed(clients []caller, servers []*fixture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nConversations: %s.\n\n", strings.Join(talkNames, ", "))
	for i, c := range clients {
		fmt.Fprintf(&b, "%d. %s, %s over %s\n", i+1, c.name, c.version, c.way)
	}
	b.WriteString("\n| server ↓ client → |")
	for i := range clients {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(clients)) + "\n")
	used := map[string]bool{}
	for _, f := range servers {
		fmt.Fprintf(&b, "| %s |", f.name)
		for _, c := range clients {
			var notes []string
			for _, name := range talkNames {
				if l := limitOf(c, f, name); l != nil {
					used[l.key] = true
					if !slices.Contains(notes, l.key) {
						notes = append(notes, l.key)
					}
				}
			}
			if slices.Sort(notes); len(notes) == 0 {
				b.WriteString(" ok |")
			} else {
				fmt.Fprintf(&b, " %s |", strings.Join(notes, " "))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n`ok`: all conversations pass. A letter: all pass except those that a peer cannot do, with or without the gateway:\n\n| | conversations | reason | proof |\n|---|---|---|---|\n")
	for _, l := range limits {
		if used[l.key] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.key, strings.Join(l.talks, ", "), l.why, l.proof)
		}
	}
	b.WriteString("\n")
	return b.String()
}
