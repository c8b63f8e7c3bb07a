package membership

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/internal/cluster"
)

// A node that joins asks the others for all their ended sessions, in pages, before it is ready, and not again. A node that was cut off
// asks again.
func TestEndedSessionsAreFetched(t *testing.T) {
	f := newFabric(t, 1)
	a := f.start("a", 0)
	f.run(2 * time.Second)
	for i := range 5 {
		a.ended = append(a.ended, cluster.EndedSession{Key: fmt.Sprintf("AAAAAAAAAAAAAA%02d", i), Age: int64(i)})
	}
	a.catalogs = 7
	b := f.start("b", 0)
	var received time.Time
	for !b.view.Ready() {
		if received.IsZero() && b.state.join.catalogs.all {
			received = f.now
		}
		if len(b.ended) == 5 && b.state.join.catalogs.done && b.state.join.told && !b.state.revoked.dirty && !b.state.revoked.applying {
			t.Fatal("not ready, although it knows everything")
		}
		f.run(time.Millisecond)
	}
	if len(b.ended) != 5 || b.catalogs != 7 || f.now.Sub(b.state.join.started) > 100*time.Millisecond {
		t.Errorf("ready after %v with %v and %d catalogs", f.now.Sub(b.state.join.started), b.ended, b.catalogs)
	}
	if took := f.now.Sub(received); took < showTime {
		t.Errorf("ready %v after the last catalog, before clients see it", took)
	}
	f.run(5 * time.Second)
	if len(b.ended) != 5 {
		t.Errorf("it has asked again: %v", b.ended)
	}
	b.ended = nil
	f.stall(b, 3*time.Second)
	f.run(8 * time.Second)
	if len(b.ended) != 5 {
		t.Errorf("after a stall it knows %v", b.ended)
	}
}

// Nodes that start together do not warn that none of them has sent its revoked keys.
func TestStartTogether(t *testing.T) {
	f, a, b, c := three(t)
	f.run(3 * time.Second)
	for _, n := range []*node{a, b, c} {
		if count(n.logged, "revoked keys") > 0 || !n.view.Ready() {
			t.Errorf("%s: ready %v, logged %q", n.name, n.view.Ready(), n.logged)
		}
	}
}

// An answer to a query that was abandoned is ignored.
func TestLateAnswerAboutEndedSessions(t *testing.T) {
	f, a, b, _ := three(t)
	p := a.state.peers[b.state.own.incarnation]
	a.state.fetchEndedPage(f.now, p, nil)
	late := fetchedEnded{incarnation: b.state.own.incarnation, number: p.ended.number}
	a.state.missEnded()
	a.state.fetchEndedPage(f.now, p, nil)
	q := cluster.Answer{Revocations: cluster.Revocations{Cluster: "prod", From: b.state.own.incarnation}}
	late.payload = q.Encode()
	if a.state.fetchedEnded(f.now, late, nil); !p.ended.asking || p.ended.all {
		t.Errorf("after the answer to an earlier query: %+v", p.ended)
	}
	late.number = p.ended.number
	if a.state.fetchedEnded(f.now, late, nil); p.ended.asking || !p.ended.all {
		t.Errorf("after the answer: %+v", p.ended)
	}
}

// When a peer leaves or is given up, the others are asked for its ended sessions, because its hints may be lost.
func TestEndedSessionsAfterTheEndOfAPeer(t *testing.T) {
	for _, end := range []string{"left", "given up", "verdict"} {
		f, a, b, c := three(t)
		f.run(3 * time.Second)
		gone := c.state.own.incarnation
		b.ended = []cluster.EndedSession{{Key: "AAAAAAAAAAAAAAAA"}}
		switch end {
		case "left":
			a.state.left(f.now, &cluster.Beat{Head: cluster.Head{Node: "c", Incarnation: gone}}, nil)
		case "given up":
			a.state.giveUp(f.now, gone, cluster.ReasonGone, nil)
		case "verdict":
			a.state.hearVerdict(f.now, &cluster.Verdict{Cluster: "prod", Node: "c", Incarnation: gone, Reason: cluster.ReasonGone}, nil)
		}
		if f.run(2 * time.Second); len(a.ended) != 1 {
			t.Errorf("%s: %v", end, a.ended)
		}
	}
}
