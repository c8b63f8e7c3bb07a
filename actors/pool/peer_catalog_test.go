package pool

import (
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// A catalog of another node is published until the server sends its lists. They are stored then even if they are the same, once.
func TestPeerCatalogIsStored(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	known := &message.KnownCatalog{Info: &message.ServerInfo{Version: "2025-11-25"}, At: w.now}
	known.Lists[protocol.Tools].Items = [][]byte{[]byte("a")}
	if got := w.said(message.PeerCatalog{Known: known}); !strings.Contains(got, "tools[a]") || strings.Contains(got, "remember") {
		t.Errorf("a catalog of another node: %s", got)
	}
	w.phase(0, message.Syncing)
	w.lists(0, "a")
	if got := w.ready(0); !strings.Contains(got, "remember [a]") {
		t.Errorf("the server sends the same lists: %s", got)
	}
	if got := w.lists(0, "a"); strings.Contains(got, "remember") {
		t.Errorf("the server sends them again: %s", got)
	}
}

// A group with a member that needs a login takes no catalog of another node, because it may depend on the account.
func TestPeerCatalogOfAGroupWithLogins(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	w.s.server.Members = []config.Server{{URLs: []string{"https://one"}, Auth: config.ServerAuth{Type: "none"}}, {URLs: []string{"https://two"}, Auth: config.ServerAuth{Type: "oauth"}}}
	if got := w.said(message.PeerCatalog{Known: &message.KnownCatalog{Info: &message.ServerInfo{}}}); got != "" {
		t.Errorf("%s", got)
	}
}
