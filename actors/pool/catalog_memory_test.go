package pool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// said applies a message. It returns a summary of the messages about the catalog, the backends that are started, and
// the timers that hold them back.
func (w *world) said(msg any) string {
	var all []string
	for _, e := range step(w.s, w.now, msg, nil) {
		switch m := e.Msg.(type) {
		case message.ServerCatalog:
			all = append(all, fmt.Sprintf("%s%s", m.Kind, m.Items))
		case message.SetServerRules:
			all = append(all, strings.TrimSpace(fmt.Sprintf("announce %s", m.Server.State)))
		case message.RememberCatalog:
			all = append(all, fmt.Sprintf("remember %s", m.Known.Lists[protocol.Tools].Items))
		case message.Confirm:
			if m.Key == rememberedPublished {
				all = append(all, "told?")
			}
		}
		switch a := e.Act.(type) {
		case spawn:
			all = append(all, "start")
		case kernel.Wake:
			if a.Msg == (clientsServed{}) {
				all = append(all, "wait "+a.After.String())
			}
		}
	}
	return strings.Join(all, "; ")
}

// lists makes a replica report its lists: these tools, and no other items. It returns the results of the method said for
// these lists.
func (w *world) lists(i int, tools ...string) (said string) {
	for kind := range protocol.ItemKind(protocol.ItemKinds) {
		m := message.Listed{Backend: w.backends[i], Kind: kind}
		if kind == protocol.Tools {
			for _, tool := range tools {
				m.Items = append(m.Items, []byte(tool))
			}
		}
		said += w.said(m) + "|"
	}
	return said
}

func (w *world) ready(i int) string {
	return w.said(message.BackendChanged{Backend: w.backends[i], Replica: i, Phase: message.Ready, Info: &message.ServerInfo{Version: "2025-11-25"}})
}

// A server's published catalog is stored when it has changed, or when the stored one is a day old.
func TestCatalogIsRemembered(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 2)
	w.phase(0, message.Syncing)
	w.lists(0, "a")
	if got := w.ready(0); !strings.Contains(got, "remember [a]") {
		t.Errorf("ready: %s", got)
	}
	if got := w.lists(0, "a"); strings.Contains(got, "remember") {
		t.Errorf("unchanged: %s", got)
	}
	w.phase(1, message.Syncing)
	if got := w.lists(1, "b") + w.ready(1); strings.Contains(got, "remember") {
		t.Errorf("list of a replica that does not lead: %s", got)
	}
	if got := w.said(message.BackendChanged{Backend: w.backends[0], Phase: message.Waiting}); !strings.Contains(got, "tools[b]") || !strings.Contains(got, "remember [b]") {
		t.Errorf("the other replica leads: %s", got)
	}
	if got := w.lists(1, "b", "c"); !strings.Contains(got, "remember [b c]") {
		t.Errorf("changed list: %s", got)
	}
	w.now = w.now.Add(refreshAfter)
	if got := w.lists(1, "b", "c"); !strings.Contains(got, "remember [b c]") {
		t.Errorf("a day later: %s", got)
	}
}

// A restarted pool publishes the remembered catalog. It starts its backends headStart after the registry's
// confirmation, after clientsWait if that is lost, or when a client calls.
func TestRememberedCatalogIsPublished(t *testing.T) {
	first := newWorld(t, config.Server{Queue: queue, URLs: []string{"http://x"}}, 1)
	first.lists(0, "a")
	first.phase(0, message.Syncing)
	first.ready(0)
	for _, ends := range []string{"told", "lost", "call"} {
		w := newWorld(t, first.s.server, 1)
		w.s = newState(Options{Server: first.s.server}, kernel.Reference{}, 2)
		w.s.catalog.remembered = first.s.catalog.remembered
		if got, want := w.said(kernel.Started{}), "tools[a]; prompts[]; resources[]; templates[]; announce cached; told?; wait 2s"; got != want {
			t.Errorf("started: %q, want %q", got, want)
		}
		switch ends {
		case "told":
			if got := w.said(message.ConfirmResult{Key: rememberedPublished}); got != "wait 50ms" {
				t.Errorf("confirmed: %s", got)
			}
			fallthrough
		case "lost":
			if got := w.said(clientsServed{}); got != "start" {
				t.Errorf("after headStart: %s", got)
			}
		case "call":
			if got := w.said(message.Dispatch{Request: &message.Request{Caller: &message.Caller{}, Server: "fake"}}); got != "start" {
				t.Errorf("after a call: %s", got)
			}
		}
		if got := w.said(clientsServed{}); got != "" {
			t.Errorf("a second time: %s", got)
		}
	}
}

// A list that cannot be fetched stays as remembered, and the server's catalog counts as cached until it can.
func TestListThatCannotBeFetched(t *testing.T) {
	w := newWorld(t, config.Server{Queue: queue}, 1)
	known := &message.KnownCatalog{Info: &message.ServerInfo{Version: "2025-11-25"}, At: w.now}
	known.Lists[protocol.Tools].Items = [][]byte{[]byte("a")}
	known.Lists[protocol.Prompts].Items = [][]byte{[]byte("p")}
	w.s.catalog.remembered.catalog = known
	w.said(kernel.Started{})
	w.phase(0, message.Syncing)
	for _, kind := range []protocol.ItemKind{protocol.Tools, protocol.Resources, protocol.Templates} {
		w.said(message.Listed{Backend: w.backends[0], Kind: kind})
	}
	if got := w.ready(0); !strings.Contains(got, "announce "+catalog.Cached) || strings.Contains(got, "prompts") {
		t.Errorf("ready without its prompts: %s", got)
	}
	if got := w.s.catalog.remembered.catalog.Lists[protocol.Prompts].Items; len(got) != 1 {
		t.Errorf("remembered prompts: %s", got)
	}
	got := w.said(message.Listed{Backend: w.backends[0], Kind: protocol.Prompts, Items: [][]byte{[]byte("q")}})
	if !strings.Contains(got, "prompts[q]") || !strings.HasSuffix(got, "announce; remember []") {
		t.Errorf("after the prompts were fetched: %s", got)
	}
	if w.now = w.now.Add(time.Hour); w.s.catalog.fromMemory {
		t.Error("the catalog still counts as cached")
	}
}

// After a reload that changes the command, the old server's remembered lists are removed, and the new server's remembered
// lists are published. A restart of the pool uses the new configuration.
func TestReloadWithAnotherCommand(t *testing.T) {
	known := func(tool string) *message.KnownCatalog {
		k := &message.KnownCatalog{Info: &message.ServerInfo{}, At: time.Unix(1000, 0)}
		k.Lists[protocol.Tools].Items = [][]byte{[]byte(tool)}
		return k
	}
	other := config.Server{Name: "fake", Command: "other", Queue: queue}
	for _, next := range []*message.KnownCatalog{nil, known("b")} {
		w := newWorld(t, config.Server{Queue: queue, Command: "one"}, 1)
		w.s.catalog.remembered.catalog = known("a")
		w.said(kernel.Started{})
		want := "tools[]; prompts[]; resources[]; templates[]; announce"
		if next != nil {
			want = "tools[b]; prompts[]; resources[]; templates[]; announce cached"
		}
		if got := w.said(message.Reconfigure{Server: other, Transport: true, Known: next}); !strings.HasPrefix(got, want) || strings.Contains(got, "[a]") {
			t.Errorf("after the reload: %s, want %s", got, want)
		}
		if w.s.catalog.remembered.identity != CatalogIdentity(other) || w.s.catalog.remembered.server.Command != "other" {
			t.Errorf("remembered across restarts: %+v", w.s.catalog.remembered)
		}
	}
}

// CatalogIdentity depends on the command, the arguments, the directory and the other options that affect the catalog,
// but not on the name, the number of replicas or the prefix. It contains no secrets.
func TestCatalogIdentity(t *testing.T) {
	base := config.Server{Name: "a", Command: "c", Args: []string{"x", "--token=secret"}, Env: map[string]string{"K": "v", "L": "w"}}
	same := base
	same.Name, same.Replicas, same.Prefix = "b", 3, "p"
	if CatalogIdentity(base) != CatalogIdentity(same) {
		t.Error("the identity depends on fields that do not affect the catalog")
	}
	for name, change := range map[string]func(*config.Server){
		"command":   func(s *config.Server) { s.Command = "d" },
		"args":      func(s *config.Server) { s.Args = []string{"x --token=secret"} },
		"directory": func(s *config.Server) { s.Cwd = "/" },
		"variable":  func(s *config.Server) { s.Env = map[string]string{"K": "v", "L": "other"} },
		"URL":       func(s *config.Server) { s.Command, s.Args, s.Env, s.URLs = "", nil, nil, []string{"http://x"} },
		"header":    func(s *config.Server) { s.Headers = map[string]string{"Authorization": "Bearer secret"} },
	} {
		other := base
		change(&other)
		id := CatalogIdentity(other)
		if id == CatalogIdentity(base) {
			t.Errorf("a different %s has the same identity", name)
		}
		if strings.Contains(id, "secret") || len(id) > 64 {
			t.Errorf("%s: identity %q contains a value of the configuration", name, id)
		}
	}
}
