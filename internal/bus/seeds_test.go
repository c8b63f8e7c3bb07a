package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A host name stands for all its addresses. It is looked up again and again; if that fails, the last addresses stay.
func TestSeedsAreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards applied and names
		var applied []string
		s := newSeeds([]string{"10.0.0.9:1", "nodes:2", "other:3"}, func(routes []*url.URL) error {
			list := ""
			for _, r := range routes {
				list += r.Host + " "
			}
			mu.Lock()
			defer mu.Unlock()
			applied = append(applied, list)
			return nil
		}, slog.New(slog.DiscardHandler))
		names := map[string][]string{"nodes": {"10.0.0.2", "10.0.0.1"}}
		s.look = func(_ context.Context, host string) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			if list := names[host]; list != nil {
				return list, nil
			}
			return nil, errors.New("no such host")
		}
		s.start()
		defer s.close()
		expect := func(change map[string][]string, want ...string) {
			t.Helper()
			mu.Lock()
			maps.Copy(names, change)
			mu.Unlock()
			time.Sleep(resolveInterval)
			mu.Lock()
			defer mu.Unlock()
			if fmt.Sprintf("%q", applied) != fmt.Sprintf("%q", want) {
				t.Errorf("got %q, want %q", applied, want)
			}
			applied = nil
		}
		time.Sleep(time.Second) // between two lookups
		expect(nil, "10.0.0.9:1 10.0.0.1:2 10.0.0.2:2 ")
		expect(nil) // unchanged
		expect(map[string][]string{"other": {"::1"}, "nodes": nil}, "10.0.0.9:1 10.0.0.1:2 10.0.0.2:2 [::1]:3 ")
		expect(map[string][]string{"nodes": {"10.0.0.3"}}, "10.0.0.9:1 10.0.0.3:2 [::1]:3 ")
		var many []string
		for i := range 2 * maxAddresses {
			many = append(many, fmt.Sprintf("10.1.%d.1:2", i))
		}
		if all := merged(map[string][]string{"nodes": many}); len(all) != maxAddresses {
			t.Errorf("%d addresses", len(all))
		}
	})
}

// Nodes find each other by host names, also if one of them is the only voter.
func TestNodesFindEachOtherByName(t *testing.T) {
	options := []Options{newNode(t, "a", 1), newNode(t, "b", 1)}
	for i := range options {
		for _, other := range options {
			_, port, _ := splitAddress(other.Routes)
			options[i].Seeds = append(options[i].Seeds, fmt.Sprintf("localhost:%d", port))
		}
		options[i].Voters, options[i].Store = []string{"a"}, t.TempDir()
	}
	a, b := startNode(t, options[0]), startNode(t, options[1])
	t.Logf("connected after %v", within(t, 10*time.Second, "connecting", func() bool { return connected(a, b) }))
	ready(t, b)
	for _, n := range []*embedded{a, b} {
		if n.conn.Stats().Reconnects > 0 {
			t.Errorf("%s was disconnected from its own server when that got new routes", n.conn.Opts.Name)
		}
	}
}
