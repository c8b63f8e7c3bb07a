package subscription

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// lastWords returns what is sent last on a stream: "acknowledged", "result", a fault's name, or "nothing".
func lastWords(out []kernel.Effect) (words string) {
	words = "nothing"
	for _, e := range out {
		switch a := e.Act.(type) {
		case reply.Notify:
			words = "acknowledged"
		case reply.Answer:
			words = "result"
		case reply.Refuse:
			words = string(a.Fault.Name)
		}
	}
	return words
}

// A stream's first message is the acknowledgment and its last one the result, unless it is refused or its client has left or canceled it
// (MCP 2026-07-28, basic/patterns/subscriptions; basic/transports/stdio, cancellation).
func TestHowAStreamBeginsAndEnds(t *testing.T) {
	snapshot := actortest.Snapshot(true)
	for _, c := range []struct {
		name, server string
		steps        []any
		want         string // after the last step
		end          string // when the actor stops
	}{
		{"drained", "", []any{message.Published{Snapshot: snapshot}, message.DrainSession{}}, "nothing", "result"},
		{"acknowledged", "", []any{message.Published{Snapshot: snapshot}}, "acknowledged", "result"},
		{"drained before it began", "", []any{message.DrainSession{}}, "nothing", string(protocol.ShuttingDown)},
		{"canceled", "", []any{message.Published{Snapshot: snapshot}, message.CancelStateless{Remote: "stdio", RequestID: "7"}}, "nothing", "nothing"},
		{"another request canceled", "", []any{message.Published{Snapshot: snapshot}, message.CancelStateless{Remote: "stdio", RequestID: "8"}}, "nothing", "result"},
		{"its client left", "", []any{message.Published{Snapshot: snapshot}, reply.Departed{}}, "nothing", "nothing"},
		{"of an unknown server", "absent", []any{message.Published{Snapshot: snapshot}}, string(protocol.InvalidRequest), "nothing"},
	} {
		x := &downstream.Exchange{Origin: downstream.Origin{Stdio: true, Remote: "stdio"}}
		raw := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":%q},"notifications":{"toolsListChanged":true}}}`, protocol.Version20260728)
		x.Frame, x.Params = actortest.Request(t, raw)
		s := newState(Options{Exchange: x, Admitted: message.Admitted{View: catalog.Key{Server: c.server}}}, kernel.Reference{})
		now := time.Unix(1000, 0)
		got := ""
		for _, msg := range append([]any{kernel.Started{}}, c.steps...) {
			got = lastWords(step(s, now, msg, nil))
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if end := lastWords(step(s, now, kernel.Stopping{}, nil)); end != c.end {
			t.Errorf("%s: it ends with %s, want %s", c.name, end, c.end)
		}
	}
}

// A resource of a slow server is acknowledged before the server has answered. If the server then refuses it, the stream subscribes
// again at that server, and at another one once the catalog lists the resource there.
func TestRefusedResourceIsSubscribedAgain(t *testing.T) {
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	one, two := actortest.NewProbe(system, "one"), actortest.NewProbe(system, "two")
	homeIs := func(name string, pool kernel.Reference) message.Published {
		source := catalog.Source{Server: &catalog.Server{Name: name, Pool: pool, Rules: config.DefaultServer(), Settled: true}}
		source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///a","name":"a"}`)}
		return message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{URIStyle: "original", PageSize: 10})}
	}
	asked := func(out []kernel.Effect) (who kernel.Reference) {
		for _, e := range out {
			if m, ok := e.Msg.(message.Resubscribe); ok && len(m.URIs) == 1 && m.URIs[0] == "file:///a" {
				who = e.To
			}
		}
		return who
	}
	for _, slow := range []bool{true, false} {
		x := &downstream.Exchange{Origin: downstream.Origin{Stdio: true, Remote: "stdio"}}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///a"]}}}`)
		s := newState(Options{Exchange: x}, kernel.Reference{})
		now := time.Unix(1000, 0)
		step(s, now, homeIs("one", one.Reference), nil)
		if slow {
			step(s, now, ackDue{}, nil)
		}
		out := step(s, now, message.SubscribeURIResult{Seq: 1, Fault: &protocol.Fault{Name: protocol.ServerUnavailable}}, nil)
		if got := asked(out) == one.Reference; got != slow || (len(s.subs.active) == 1) != slow {
			t.Errorf("acknowledged before: %v; asked again: %v, %d active subscriptions", slow, got, len(s.subs.active))
		}
		out = step(s, now, homeIs("two", two.Reference), nil)
		if got := asked(out) == two.Reference; got != slow || (len(s.subs.active) == 1) != slow {
			t.Errorf("acknowledged before: %v; the other server is asked: %v, %d active subscriptions", slow, got, len(s.subs.active))
		}
	}
}

// An unlisted resource is acknowledged only if its server's pool says in time that the server has mentioned it.
// Otherwise it may not exist, so the acknowledgment leaves it out and the subscribe is canceled.
func TestUnmentionedResourceIsNotAcknowledged(t *testing.T) {
	const uri = "file:///b"
	system := kernel.New(kernel.Options{})
	defer actortest.Stop(t, system)
	one := actortest.NewProbe(system, "one")
	source := catalog.Source{Server: &catalog.Server{Name: "one", Pool: one.Reference, Rules: config.DefaultServer(), Settled: true}}
	source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///a","name":"a"}`)}
	snapshot := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{URIStyle: "original", Unlisted: "mentioned", PageSize: 10})
	for _, named := range []bool{true, false} {
		x := &downstream.Exchange{Origin: downstream.Origin{Stdio: true, Remote: "stdio"}}
		x.Frame, x.Params = actortest.Request(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///a",%q]}}}`, uri))
		s := newState(Options{Exchange: x}, kernel.Reference{})
		now := time.Unix(1000, 0)
		hints := map[string]bool{}
		for _, e := range step(s, now, message.Published{Snapshot: snapshot}, nil) {
			if m, ok := e.Msg.(message.SubscribeURI); ok {
				hints[m.URI] = m.Hint
			}
		}
		if len(hints) != 2 || hints["file:///a"] || !hints[uri] {
			t.Errorf("asked for %v, want a hint that names the unlisted resource", hints)
		}
		if named {
			step(s, now, message.ResourceKnown{Seq: 2}, nil)
		}
		ended, promised := false, false
		for _, e := range step(s, now, ackDue{}, nil) {
			m, ok := e.Msg.(message.UnsubscribeURI)
			ended = ended || ok && m.URI == uri
			ack, ok := e.Act.(reply.Notify)
			promised = promised || ok && strings.Contains(string(ack.Frame), uri)
		}
		if promised != named || ended == named || (s.subs.active[clientsubs.Resource{Server: "one", URI: uri}] != nil) != named {
			t.Errorf("mentioned: %v; acknowledged: %v, canceled: %v, subscribed to %v", named, promised, ended, s.subs.active)
		}
		for _, e := range step(s, now, message.SubscribeURIResult{Seq: 2, Fault: protocol.NoResource(uri)}, nil) {
			if _, ok := e.Msg.(message.Resubscribe); ok != named {
				t.Errorf("mentioned: %v; refused, then %T", named, e.Msg)
			}
		}
	}
}

// A stream ends when a reload moves its subscriptions to other connections. Its client then opens a new stream. Before
// the acknowledgment, the stream is refused with an error.
func TestStreamEndsWhenItsConnectionsChange(t *testing.T) {
	with := func(isolation string) message.Published {
		rules := config.DefaultServer()
		rules.Isolation = isolation
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: rules, Settled: true}}
		source.Items[protocol.Resources] = [][]byte{[]byte(`{"uri":"file:///a","name":"a"}`)}
		return message.Published{Snapshot: catalog.Build(nil, []catalog.Source{source}, catalog.Naming{URIStyle: "original", PageSize: 10})}
	}
	for _, c := range []struct {
		before, after string
		acked, ends   bool
	}{
		{"session", "session", true, false}, {"shared", "class", true, false}, {"shared", "session", true, true},
		{"session", "shared", true, true}, {"session", "principal", false, true},
	} {
		x := &downstream.Exchange{Origin: downstream.Origin{Remote: "127.0.0.1:9"}}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["file:///a"]}}}`)
		s := newState(Options{Exchange: x}, kernel.Reference{})
		now := time.Unix(1000, 0)
		for _, e := range step(s, now, with(c.before), nil) {
			if m, ok := e.Msg.(message.SubscribeURI); ok && (m.Own != nil) != (c.before == "session") {
				t.Errorf("%s: subscribed as %q", c.before, m.Own.KeyOf())
			}
		}
		if c.acked {
			step(s, now, message.SubscribeURIResult{Seq: 1}, nil)
		}
		out := step(s, now, with(c.after), nil)
		leaves := false
		for _, e := range out {
			_, left := e.Act.(kernel.SelfStop)
			leaves = leaves || left
		}
		if words := lastWords(out); leaves != c.ends || (words == string(protocol.ServerUnavailable)) != (c.ends && !c.acked) {
			t.Errorf("%s, then %s: the stream ends: %v, with %s", c.before, c.after, leaves, words)
		}
	}
}

// A stream ignores a revocation that precedes its client's admission, and ends with one that follows it.
func TestStreamIgnoresEarlierRevocation(t *testing.T) {
	x := &downstream.Exchange{}
	s := newState(Options{Exchange: x, Admitted: message.Admitted{Who: &identity.Principal{ID: "key:alice"}, Epoch: 7}}, kernel.Reference{})
	for epoch, leaves := range map[uint64]bool{6: false, 8: true} {
		out := step(s, time.Time{}, message.Principals{Newest: map[string]*identity.Principal{}, Epoch: epoch}, nil)
		if left := len(out) > 0; left != leaves {
			t.Errorf("change %d: %v", epoch, out)
		}
	}
}
