package bus

import (
	"errors"
	"flag"
	"testing"
	"time"
)

var voterFaults = flag.Duration("voters", 0, "stop and kill voters; the duration is that of TestLeasesWhileVotersFail")

// threeVoters returns the options of three nodes that all keep records.
func threeVoters(t testing.TB) []Options {
	nodes := threeNodes(t)
	for i := range nodes {
		nodes[i].Voters, nodes[i].Store = []string{"a", "b", "c"}, t.TempDir()
	}
	return nodes
}

// ready waits until the records are available to the node.
func ready(t testing.TB, b Bus) time.Duration {
	t.Helper()
	return within(t, 30*time.Second, "records", func() bool {
		_, err := b.Records().Get(t.Context(), "missing")
		return errors.Is(err, ErrNoRecord)
	})
}
