package membership

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// published returns the hints that a message makes a node send.
func (n *node) published(t *testing.T, now time.Time, msg any) (hints []*cluster.Hint) {
	t.Helper()
	for _, e := range n.state.step(now, msg, nil) {
		if p, is := e.Act.(publish); is && p.subject == cluster.SubjectHint {
			h, err := cluster.ParseHint(p.payload)
			if err != nil {
				t.Fatal(err)
			}
			hints = append(hints, h)
		}
	}
	return hints
}

// A node sends hints with its own cluster and incarnation, whatever the message contains. It does not send a hint with a request id
// that is too long.
func TestHintsAreSent(t *testing.T) {
	f, a, _, _ := three(t)
	hint := cluster.Hint{Cluster: "x", From: "y", Kind: cluster.HintCancel, Session: "2s", Holder: "key:a", Request: []byte("7")}
	want := hint
	want.Cluster, want.From = "prod", a.state.own.incarnation
	if got := a.published(t, f.now, message.TellNodes{Hint: hint}); len(got) != 1 || !reflect.DeepEqual(*got[0], want) {
		t.Errorf("%+v", got)
	}
	hint.Request = []byte(fmt.Sprintf("%02000d", 1))
	if got := a.published(t, f.now, message.TellNodes{Hint: hint}); got != nil {
		t.Errorf("with a long request id: %+v", got)
	}
}

// A node that stops does not say that its sessions have ended.
func TestStoppingNodeEndsNoSessions(t *testing.T) {
	f, a, _, _ := three(t)
	f.step(a, message.DrainNode{})
	for kind, want := range map[cluster.HintKind]int{cluster.HintEnded: 0, cluster.HintCancel: 1} {
		if got := a.published(t, f.now, message.TellNodes{Hint: cluster.Hint{Kind: kind, Session: "2s", Request: []byte("7")}}); len(got) != want {
			t.Errorf("%s: %d hints, want %d", kind, len(got), want)
		}
	}
}

// Hints of one session, and of all together, are limited. After a second, others are sent.
func TestHintsAreLimited(t *testing.T) {
	f, a, _, _ := three(t)
	send := func(session string, times int) (sent int) {
		for range times {
			sent += len(a.published(t, f.now, message.TellNodes{Hint: cluster.Hint{Kind: cluster.HintCancel, Session: session, Request: []byte("7")}}))
		}
		return sent
	}
	if got := send("flood", 1000); got != maxHintsPerSession {
		t.Errorf("one session: %d hints", got)
	}
	if got := send("other", 1); got != 1 {
		t.Error("a flood of one session suppresses the hints of another")
	}
	for i := range 2 * maxHints {
		send(fmt.Sprint(i), 1)
	}
	if n := len(a.state.hints.bySession); n > maxHints {
		t.Errorf("%d sessions are remembered", n)
	}
	if got := send("last", 1); got != 0 {
		t.Error("the limit of all sessions was exceeded")
	}
	f.run(hintTime)
	if got := send("last", 1); got != 1 {
		t.Error("no hint is sent after a second")
	}
}

// A node passes the hints of other nodes of its cluster on to the gateway. It ignores its own, those of other clusters, and those of
// an incarnation that was given up.
func TestHintsAreHeard(t *testing.T) {
	f, a, b, _ := three(t)
	a.state.options.Hint = func(*cluster.Hint) {}
	was := b.state.own.incarnation
	f.stall(b, 2*time.Second)
	f.run(5 * time.Second)
	for _, c := range []struct {
		of, from string
		kind     cluster.HintKind
		heard    bool
	}{
		{"prod", b.state.own.incarnation, cluster.HintEnded, true}, {"prod", b.state.own.incarnation, "unknown", true},
		{"prod", a.state.own.incarnation, cluster.HintEnded, false}, {"prod", was, cluster.HintEnded, false}, {"other", b.state.own.incarnation, cluster.HintEnded, false},
	} {
		h := cluster.Hint{Cluster: c.of, From: c.from, Kind: c.kind, Session: "2s"}
		payload, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		heard := false
		for _, e := range a.state.step(a.state.own.beat, message.Heard{Subject: cluster.SubjectHint, Payload: payload}, nil) {
			_, is := e.Act.(hint)
			heard = heard || is
		}
		if heard != c.heard {
			t.Errorf("%+v is heard: %v", h, heard)
		}
	}
}

// A question about a session is answered with what the gateway says about it.
func TestQuestionAboutSession(t *testing.T) {
	f, a, _, _ := three(t)
	q := cluster.Query{Cluster: "prod", From: "bbbbbbb2", Kind: cluster.QuerySession, Session: "2s", Holder: "key:a"}
	for _, c := range []struct {
		session AnswerSession
		life    cluster.SessionLife
	}{
		{nil, cluster.SessionUnknown},
		{func(id, holder string, reply func(cluster.SessionLife, string)) {
			if id == "2s" && holder == "key:a" {
				reply(cluster.SessionLives, "info")
			}
		}, cluster.SessionLives},
	} {
		var answers []*cluster.Answer
		m := &membership{Options{Session: c.session}, a.state}
		for _, e := range a.state.step(f.now, message.NodeQuery{Payload: q.Encode(), Reply: func(b []byte) {
			answer, err := cluster.ParseAnswer(b)
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, answer)
		}}, nil) {
			if act, is := e.Act.(answerSession); is {
				m.Act(kernel.Self{}, act)
			}
		}
		if len(answers) != 1 || answers[0].Session != c.life || answers[0].Cluster != "prod" || answers[0].From != a.state.own.incarnation || len(answers[0].List) > 0 {
			t.Errorf("%+v", answers)
		}
	}
}

// When the counters of another node's catalog change, this node's clients are notified of the same kinds. The first beat of a
// process is not a change. A change whose beats got lost is noticed with the next beat that arrives.
func TestCatalogsOfOtherNodes(t *testing.T) {
	f, a, b, _ := three(t)
	heard, atJoining := map[protocol.ItemKind]int{}, 0
	f.catalogs = func(n *node, kinds [protocol.ItemKinds]bool) {
		for kind, changed := range kinds {
			if changed && n == a {
				heard[protocol.ItemKind(kind)]++
			}
		}
		if n.name == "d" {
			atJoining++
		}
	}
	expect := func(when string, tools, prompts int) {
		t.Helper()
		f.run(time.Second)
		if heard[protocol.Tools] != tools || heard[protocol.Prompts] != prompts || heard[protocol.Resources] != 0 {
			t.Errorf("%s: heard of changes %v, want tools %d, prompts %d", when, heard, tools, prompts)
		}
	}
	generations := func(tools, prompts uint64) message.OwnCatalogChanged {
		list := make([]uint64, protocol.ItemKinds)
		list[protocol.Tools], list[protocol.Prompts] = tools, prompts
		return message.OwnCatalogChanged{Generations: list}
	}
	f.step(b, generations(1, 0))
	f.run(50 * time.Millisecond)
	if heard[protocol.Tools] != 1 {
		t.Errorf("a change is not heard of at once: %v", heard)
	}
	expect("a change", 1, 0)
	f.step(a, generations(4, 4))
	expect("a change of its own catalog", 1, 0)
	f.lost = 1000
	f.step(b, generations(2, 1))
	f.run(500 * time.Millisecond)
	f.calm()
	expect("changes whose beats got lost", 2, 1)
	f.stall(b, 3*time.Second)
	f.run(5 * time.Second)
	expect("another incarnation, after it was given up", 3, 2)
	f.start("d", 0)
	if expect("another process", 3, 2); atJoining > 0 {
		t.Error("a new process mistakes the counters of the other nodes for changes")
	}
}

// Mentions of many servers leave room for the other hints.
func TestMentionHintsAreLimited(t *testing.T) {
	f, a, _, _ := three(t)
	sent := 0
	for i := range 2 * maxHints {
		sent += len(a.published(t, f.now, message.TellNodes{Hint: cluster.Hint{Kind: cluster.HintMentioned, Server: fmt.Sprint("s", i), URIs: []string{"a:b"}}}))
	}
	ended := a.published(t, f.now, message.TellNodes{Hint: cluster.Hint{Kind: cluster.HintEnded, Session: "2s"}})
	if sent != maxMentionHints || len(ended) != 1 {
		t.Errorf("sent hints about %d mentions and %d ended sessions", sent, len(ended))
	}
}
