package cluster

import (
	"context"
	"errors"
	"net/netip"
	"testing"
)

// A node without a configured address uses the one from which it reaches the other nodes.
func TestLocalAddress(t *testing.T) {
	routes := map[string]string{
		"a:1": "10.0.0.7", "own:1": "127.0.0.1", "127.0.0.2:1": "127.0.0.1", "localhost:1": "127.0.0.1", "[::1]:1": "::1", anywhere[0]: "10.9.9.9", anywhere[1]: "fd00::9",
	}
	for _, c := range []struct {
		peers   []string
		without string // a route that does not exist
		want    string
	}{
		{[]string{"a:1"}, "", "10.0.0.7"},
		{[]string{"unknown:1", "a:1"}, "", "10.0.0.7"},
		{[]string{"own:1", "a:1"}, "", "10.0.0.7"},
		{[]string{"127.0.0.2:1", "a:1"}, "", "10.0.0.7"},
		{[]string{"127.0.0.2:1", "localhost:1"}, "", "127.0.0.1"},
		{[]string{"[::1]:1"}, "", "::1"},
		{[]string{"own:1"}, "", "10.9.9.9"},
		{nil, "", "10.9.9.9"},
		{[]string{"unknown:1"}, anywhere[0], "fd00::9"},
	} {
		got, err := localAddress(t.Context(), c.peers, func(_ context.Context, peer string) (netip.Addr, error) {
			if a, ok := routes[peer]; ok && peer != c.without {
				return netip.MustParseAddr(a), nil
			}
			return netip.Addr{}, errors.New("no route")
		})
		if err != nil || got.String() != c.want {
			t.Errorf("%q: %v, %v; want %s", c.peers, got, err, c.want)
		}
	}
	none := func(context.Context, string) (netip.Addr, error) { return netip.Addr{}, errors.New("no route") }
	if _, err := localAddress(t.Context(), []string{"a:1"}, none); !errors.Is(err, errNoAddress) {
		t.Errorf("without a network: %v", err)
	}
	if a, err := LocalAddress(t.Context(), []string{"127.0.0.1:1"}); err != nil || !a.IsLoopback() {
		t.Errorf("loopback: %v, %v", a, err)
	}
}
