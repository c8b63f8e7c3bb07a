package bus

import (
	"errors"
	"flag"
	"fmt"
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

// Only the user that runs a voter may read its records.
func TestStoreIsPrivate(t *testing.T) {
	o := newNode(t, "a", 1)
	o.Voters, o.Store = []string{"a"}, filepath.Join(t.TempDir(), "cluster")
	ready(t, startNode(t, o))
	info, err := os.Stat(filepath.Join(o.Store, "a"))
	if err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
}

// A start takes milliseconds, also that of a voter.
func BenchmarkStart(b *testing.B) {
	for name, voters := range map[string][]string{"node": nil, "only voter": {"a"}, "one of three voters": {"a", "b", "c"}} {
		b.Run(name, func(b *testing.B) {
			o := newNode(b, "a", 1)
			o.Voters, o.Store = voters, b.TempDir()
			for b.Loop() {
				n, err := Start(o)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				n.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRecords measures a write and a read of a node that is not a voter, with three voters.
func BenchmarkRecords(b *testing.B) {
	list := append(threeVoters(b), newNode(b, "d", 4))
	list[3].Seeds, list[3].Voters = list[0].Seeds, list[0].Voters
	var n *embedded
	for _, o := range list {
		n = startNode(b, o)
	}
	ready(b, n)
	r := n.Records()
	b.Run("write", func(b *testing.B) {
		revision := uint64(0)
		if now, err := r.Get(b.Context(), "key"); err == nil {
			revision = now.Revision
		}
		for i := 0; b.Loop(); i++ {
			var err error
			if revision, err = r.Put(b.Context(), "key", fmt.Append(nil, b.N, i), revision); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Get(b.Context(), "key"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
