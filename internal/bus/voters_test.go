package bus

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
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

// Nothing that is usual when nodes start and stop is logged as a warning.
func TestUsualEventsAreNoWarnings(t *testing.T) {
	t.Parallel()
	for name, voters := range map[string][]string{"no voters": nil, "one voter": {"b"}, "three voters": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := new(lockedLog)
			options := threeNodes(t)
			var nodes []*embedded
			for _, o := range options {
				o.Voters, o.Store = voters, t.TempDir()
				o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
				nodes = append(nodes, startNode(t, o))
			}
			within(t, 10*time.Second, "connecting", func() bool { return connected(nodes...) })
			if len(voters) == 1 {
				ready(t, nodes[0])
			}
			nodes[2].Close()
			time.Sleep(200 * time.Millisecond)
			if text := log.String(); text != "" {
				t.Error(text)
			}
		})
	}
}

// Only the user of a voter may read its records.
func TestStoreIsPrivate(t *testing.T) {
	o := newNode(t, "a", 1)
	o.Voters, o.Store = []string{"a"}, filepath.Join(t.TempDir(), "cluster")
	ready(t, startNode(t, o))
	info, err := os.Stat(filepath.Join(o.Store, "a"))
	if err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
}
