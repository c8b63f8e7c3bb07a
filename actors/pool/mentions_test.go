package pool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// The number of stored mentions is limited, and resources that are requested are kept longest.
func TestMentionsAreLimited(t *testing.T) {
	for _, length := range []int{10, 4000} {
		var m mentions
		m.add("kept", mention{})
		for i := range 10 * maxMentions {
			m.add(fmt.Sprintf("%0*d", length, i), mention{})
			if i%100 == 0 && !m.has("kept") {
				t.Fatalf("after %d URIs of %d bytes the requested one is forgotten", i, length)
			}
			if len(m.now) > maxMentions || len(m.before) > maxMentions || m.bytes > maxMentionBytes {
				t.Fatalf("%d and %d URIs of %d bytes are kept, more than the limits", len(m.now), len(m.before), length)
			}
		}
		if m.has(fmt.Sprintf("%0*d", length, 0)) || !m.has(fmt.Sprintf("%0*d", length, 10*maxMentions-1)) {
			t.Error("the oldest URI is kept, or the newest is not")
		}
	}
	var m mentions
	if m.add(strings.Repeat("x", maxMentionedURI+1), mention{}); len(m.now) != 0 {
		t.Error("a URI over the maximum length is kept")
	}
}

func (w *world) read(seq uint64, uri string, can message.CapabilitySet) {
	r := &message.Request{Server: "fake", Item: uri, Unlisted: true, Caller: &message.Caller{Can: can}}
	r.Frame.Method = protocol.MethodResourcesRead
	w.step(message.Dispatch{Call: message.CallRef{Seq: seq}, Request: r})
}

// A resource that a class connection has mentioned is read on that connection by all clients, until it is lost.
func TestMentionsOfAClass(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Isolation: isolationClass, Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.Dispatch{Call: message.CallRef{Seq: 1}, Request: &message.Request{Server: "fake", Caller: &message.Caller{Can: message.CanForm}}})
	system := kernel.New(kernel.Options{})
	t.Cleanup(func() { actortest.Stop(t, system) })
	class := actortest.NewProbe(system, "class").Reference
	w.step(spawned{2, class})
	ready := message.BackendChanged{Backend: class, Phase: message.Ready, Info: &message.ServerInfo{}, Incarnation: 1}
	w.step(ready)
	w.read(2, "a:made", message.CanForm)
	w.fault(2, protocol.ResourceNotFound)
	w.step(message.ResourcesMentioned{Backend: class, Incarnation: 1, URIs: []string{"a:made"}})
	for seq, can := range []message.CapabilitySet{message.CanForm, message.CanAll, 0} {
		if w.read(uint64(10+seq), "a:made", can); w.sent[uint64(10+seq)] != class {
			t.Errorf("client with capabilities %v: read on %v, want the connection that mentioned the resource", can, w.sent[uint64(10+seq)])
		}
	}
	asked, _ := told[message.Query, spawn](w, message.SubscribeURI{Seq: 20, URI: "a:made", Unlisted: true})
	if len(asked) != 1 || w.s.subscriptions.queries[asked[0].Key].conn.ref != class {
		t.Errorf("subscription on %v", w.s.subscriptions.queries)
	}
	ready.Incarnation = 2
	w.step(message.BackendChanged{Backend: class, Phase: message.Connecting, Incarnation: 2})
	w.step(ready)
	if w.read(30, "a:made", message.CanAll); w.sent[30] != w.backends[0] {
		t.Error("after the loss of its session the resource was not read on the usual connection")
	}
}

// A subscriber to an unlisted resource is told at once whether the server has mentioned it.
func TestResourceKnownIsSentToSubscriber(t *testing.T) {
	w := newWorld(t, config.Server{Command: "x", Queue: queue}, 1)
	w.phase(0, message.Ready)
	w.step(message.ResourcesMentioned{Backend: w.backends[0], Incarnation: 1, URIs: []string{"a:made"}})
	for seq, c := range []struct {
		uri            string
		hint           bool
		named, refused int
	}{{"a:made", true, 1, 0}, {"a:nothing", true, 0, 1}, {"a:made", false, 0, 0}} {
		named, refused := 0, 0
		for _, e := range step(w.s, w.now, message.SubscribeURI{Seq: uint64(seq), URI: c.uri, Unlisted: true, Hint: c.hint}, nil) {
			switch e.Msg.(type) {
			case message.ResourceKnown:
				named++
			case message.SubscribeURIResult:
				refused++
			}
		}
		if named != c.named || refused != c.refused {
			t.Errorf("%s: %d hints and %d refusals", c.uri, named, refused)
		}
	}
}

// In a cluster, the node that runs the server decides whether a resource was mentioned. Of a server to which each node has connections, the
// nodes tell each other what it has mentioned for the first time, or
// again after a minute.
func TestMentionsInACluster(t *testing.T) {
	seq := uint64(100)
	refused := func(w *world, uri string) bool {
		seq++
		w.read(seq, uri, message.CanAll)
		_, sent := w.sent[seq]
		return !sent
	}
	hop := newWorld(t, config.Server{Hop: "b", URLs: []string{"https://b/s/fake/mcp"}, Queue: queue}, 1)
	hop.phase(0, message.Ready)
	if refused(hop, "a:made") {
		t.Error("a node refuses what only the node of the server can decide")
	}
	for _, shared := range []bool{true, false} {
		w := newWorld(t, config.Server{URLs: []string{"http://127.0.0.1:1"}, Shared: shared, Queue: queue}, 1)
		w.s.tenants.membership = hop.backends[0] // any reference
		w.phase(0, message.Ready)
		count := func(uris ...string) (hints int) {
			tell, _ := told[message.TellNodes, message.Send](w, message.ResourcesMentioned{Backend: w.backends[0], Incarnation: 1, URIs: uris})
			for _, m := range tell {
				hints += len(m.Hint.URIs)
			}
			return hints
		}
		if first, again, other := count("a:one"), count("a:one"), count("a:one", "a:two"); (first != 1 || again != 0 || other != 1) && shared || first+again+other > 0 && !shared {
			t.Errorf("shared %v: %d, %d and %d resources were announced to the other nodes", shared, first, again, other)
		}
		w.now = w.now.Add(tellAgain)
		early := count("a:one")
		w.now = w.now.Add(time.Second)
		if late, again := count("a:one"), count("a:one"); shared && (early != 0 || late != 1 || again != 0) || !shared && early+late+again > 0 {
			t.Errorf("shared %v: told %d times after a minute, then %d and %d times", shared, early, late, again)
		}
		w.step(message.PeerMentioned{URIs: []string{"a:there"}})
		if refused(w, "a:there") == shared || !refused(w, "a:never") {
			t.Errorf("shared %v: what another node has heard of is refused: %v", shared, !shared)
		}
	}
}
