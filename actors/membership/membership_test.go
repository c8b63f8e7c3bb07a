package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
)

// three starts three nodes and lets them find each other.
func three(t *testing.T) (f *fabric, a, b, c *node) {
	f = newFabric(t, 1)
	a, b, c = f.start("a", 0), f.start("b", 0), f.start("c", 0)
	f.run(2 * time.Second)
	f.checkRest("at the start")
	for _, n := range f.nodes {
		n.logged = nil
	}
	return f, a, b, c
}

func (n *node) sees(names ...string) bool {
	var list []string
	for _, m := range n.view.Members {
		list = append(list, m.Node)
	}
	slices.Sort(list)
	return slices.Equal(list, names)
}

func (n *node) row(name string) status.Node {
	for _, r := range n.state.report(time.Time{}) {
		if r.Name == name && !r.Self {
			return r
		}
	}
	return status.Node{}
}

// A node is ready as soon as a member has sent it the revocations and the ended sessions, or after a second.
func TestJoining(t *testing.T) {
	f := newFabric(t, 1)
	a := f.start("a", 0)
	f.run(joinTime - time.Millisecond)
	if a.view.Ready() {
		t.Error("ready before the time to join has passed")
	}
	f.run(cluster.BeatEvery)
	if !a.view.Ready() || !a.sees("a") {
		t.Error("not ready after the time to join")
	}
	for i := range 3 * cluster.MaxRevocations {
		f.step(a, message.RevokeHolders{Holders: []string{fmt.Sprintf("key:%03d@0123456789abcdef", i)}})
	}
	f.step(a, message.RestoreHolders{Holders: []string{"key:000@0123456789abcdef"}})
	f.run(10 * time.Millisecond)
	b := f.start("b", 0)
	f.run(60 * time.Millisecond)
	if !b.view.Ready() || len(b.holders) != 3*cluster.MaxRevocations-1 || !b.sees("a", "b") || !a.sees("a", "b") {
		t.Errorf("b is ready %v, knows %d revoked keys and sees %s", b.view.Ready(), len(b.holders), describe(b.view))
	}
	f.run(time.Second)
	f.checkRest("after a second")
}

// A node that is killed is given up 900 ms after its last beat, and not before. A node that stops is gone at once. A node
// that refused a connection and has no process is gone at once.
func TestHowNodesGo(t *testing.T) {
	f, a, b, c := three(t)
	f.slow = 1
	f.run(time.Second + 50*time.Millisecond) // between two beats
	f.kill(c)
	last := a.state.peers[c.state.own.incarnation].heard
	f.run(last.Add(cluster.SilentAfter).Sub(f.now))
	if !a.sees("a", "b", "c") {
		t.Error("c is given up too early")
	}
	f.run(cluster.BeatEvery + time.Millisecond)
	if !a.sees("a", "b") || !b.sees("a", "b") {
		t.Errorf("c is not given up: %s", describe(a.view))
	}
	f.stop(b)
	f.run(time.Millisecond)
	if !a.sees("a") {
		t.Error("a node that has stopped is still a member")
	}
	d := f.start("d", 0)
	f.run(10 * time.Millisecond)
	f.step(a, message.NodeRefused{Incarnation: d.state.own.incarnation})
	f.run(10 * time.Millisecond)
	if !a.sees("a", "d") {
		t.Error("a node that answers is given up")
	}
	f.kill(d)
	f.run(probeEvery)
	f.step(a, message.NodeRefused{Incarnation: d.state.own.incarnation})
	f.run(10 * time.Millisecond)
	if !a.sees("a") {
		t.Error("a node that has no process is still a member")
	}
}

// A node that was stopped for longer than it may be silent continues under a new incarnation, whether it hears its verdict
// or finds its last beat too old. It does not give up other nodes whose beats it missed meanwhile.
func TestStalledNode(t *testing.T) {
	f, a, b, c := three(t)
	was := c.state.own.incarnation
	f.stall(c, 8*time.Second)
	f.run(1100 * time.Millisecond)
	if !a.sees("a", "b") {
		t.Errorf("a stalled node is a member after 1.1 s: %s", describe(a.view))
	}
	f.run(8 * time.Second)
	f.checkRest("after the stall")
	now := c.state.own.incarnation
	if now == was || !c.view.Mine(was) || c.view.Resolve(was).Incarnation != now || a.view.Resolve(was).Incarnation != now {
		t.Errorf("it continues as %s, and was %s", now, was)
	}
	if slices.Contains(c.logged, "a node of the cluster is given up") || len(a.state.own.former)+len(b.state.own.former) > 0 {
		t.Errorf("the stalled node gave others up: %q", c.logged)
	}
	f.step(c, message.Heard{Subject: cluster.SubjectVerdict, Payload: (&cluster.Verdict{Cluster: "prod", By: a.state.own.incarnation, Incarnation: now, Reason: "test"}).Encode()})
	f.run(heals)
	f.checkRest("after a verdict")
	if c.state.own.incarnation == now || len(c.state.own.former) != 2 {
		t.Errorf("after its verdict: %s, formerly %v", c.state.own.incarnation, c.state.own.former)
	}
}

// However many verdicts a node hears, it takes at most one incarnation a second, and remembers only the newest ones.
func TestManyVerdicts(t *testing.T) {
	f, a, _, c := three(t)
	for range 300 {
		v := cluster.Verdict{Cluster: "prod", By: a.state.own.incarnation, Incarnation: c.state.own.incarnation, Reason: "test"}
		f.step(c, message.Heard{Subject: cluster.SubjectVerdict, Payload: v.Encode()})
		f.run(50 * time.Millisecond)
	}
	if n := f.minted - 3; n < 10 || n > 16 || len(c.state.own.former) != cluster.MaxFormer {
		t.Errorf("%d new incarnations in 15 s, %d of them remembered", n, len(c.state.own.former))
	}
	f.run(heals)
	f.checkRest("after the last verdict")
}

// A restart with the same name replaces the old process as soon as that is known to be gone. Two living processes of one
// name stay members, and the status names them.
func TestNodesOfOneName(t *testing.T) {
	f, a, _, c := three(t)
	f.kill(c)
	again := f.start("c", 0)
	f.run(100 * time.Millisecond)
	if !a.sees("a", "b", "c") || a.view.Named("c").Incarnation != again.state.own.incarnation || again.view.Self != again.state.own.incarnation {
		t.Errorf("after a restart a sees %s", describe(a.view))
	}
	f.run(time.Second)
	twin := f.start("c", 0)
	f.run(5 * time.Second)
	f.checkRest("with a twin")
	if a.view.Named("c").Incarnation != again.state.own.incarnation {
		t.Error("the twin has taken the name over")
	}
	for _, n := range []*node{a, again, twin} {
		if w := n.row("c").Warnings; len(w) != 1 || w[0] != namesakeText {
			t.Errorf("%s: warnings %q", n.name, w)
		}
		if count(n.logged, "two nodes of the cluster have the same name") == 0 {
			t.Errorf("%s logged %q", n.name, n.logged)
		}
	}
}

func count(list []string, text string) (n int) {
	for _, s := range list {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// Of more than sixteen nodes the first are members everywhere. The others are not ready, say why, and take the place of
// one that leaves.
func TestTooManyNodes(t *testing.T) {
	f := newFabric(t, 1)
	for i := range cluster.MaxMembers {
		f.start(fmt.Sprint("n", i), 0)
	}
	f.run(2 * time.Second)
	f.checkRest("with sixteen")
	late := f.start("late", 0)
	f.run(3 * time.Second)
	for _, n := range f.nodes {
		if len(n.view.Members) != cluster.MaxMembers || n.view.Member(late.state.own.incarnation) != nil {
			t.Errorf("%s sees %d members", n.name, len(n.view.Members))
		}
	}
	if r := f.nodes[3].row("late"); late.view.Ready() || r.State != status.NodeOutside || len(r.Warnings) != 1 || r.Warnings[0] != outsideFull {
		t.Errorf("late is ready %v: %+v", late.view.Ready(), r)
	}
	if count(f.nodes[3].logged, "not a member") != 1 || count(late.logged, "is not a member") != 1 {
		t.Errorf("logged %q and %q", f.nodes[3].logged, late.logged)
	}
	f.stop(f.nodes[0])
	f.run(heals)
	f.checkRest("after one has left")
}

// Nodes of other clusters are ignored. Nodes of other versions are not members, but the status shows them.
func TestStrangers(t *testing.T) {
	f, a, _, _ := three(t)
	b := cluster.Beat{Head: cluster.Head{Cluster: "test", Node: "x", Incarnation: "xxxxxxx2", Speaks: cluster.Spoken}, Address: "x:1", Seq: 1}
	for range 100 {
		f.step(a, message.Heard{Subject: cluster.SubjectBeat, Payload: b.Encode()})
		f.step(a, message.Heard{Subject: cluster.SubjectBeat, Payload: []byte("{")})
		f.step(a, message.Heard{Subject: cluster.SubjectVerdict, Payload: (&cluster.Verdict{Cluster: "test", By: "xxxxxxx2", Incarnation: a.state.own.incarnation}).Encode()})
		f.step(a, message.Heard{Subject: cluster.SubjectRevoked, Payload: (&cluster.Revocations{Cluster: "test", From: "xxxxxxx2", List: []cluster.Revocation{{Holder: "key:a", Number: 1}}}).Encode()})
		f.step(a, message.Heard{Subject: "members.unknown", Payload: []byte("{")})
	}
	if len(a.logged) != 1 || count(a.logged, "ignored") != 1 {
		t.Errorf("logged %q", a.logged)
	}
	old := b
	old.Cluster, old.Version, old.Speaks = "prod", "0.9", cluster.Versions{7, 8}
	for i := range maxOutsiders + 10 {
		old.Incarnation = fmt.Sprintf("xxxxxx%c%c", 'a'+i%26, 'a'+i/26)
		f.step(a, message.Heard{Subject: cluster.SubjectBeat, Payload: old.Encode()})
	}
	if r := a.row("x"); r.State != status.NodeOutside || r.Version != "0.9" || !strings.Contains(fmt.Sprint(r.Warnings), "speaks versions 7 to 8 of the cluster's messages") {
		t.Errorf("%+v", r)
	}
	if count(a.logged, "is not a member of the cluster") != 1 || len(a.state.outsiders) != maxOutsiders {
		t.Errorf("logged %q, %d outsiders", a.logged, len(a.state.outsiders))
	}
	f.checkRest("at the end")
	f.run(outsiderTime + sweepEvery)
	if len(a.state.outsiders) > 0 {
		t.Errorf("%d outsiders are remembered", len(a.state.outsiders))
	}
}

// The log warns once of a difference between nodes, and again if it returns.
func TestDifferences(t *testing.T) {
	f := newFabric(t, 1)
	a, b := f.start("a", 0), f.start("b", 3*time.Second)
	facts := func(n *node, config, keys string) { f.step(n, message.NodeFacts{Config: config, Keys: keys}) }
	facts(a, "1", "1")
	facts(b, "2", "1")
	f.run(differTime - time.Second)
	if w := fmt.Sprint(a.row("b").Warnings); !strings.Contains(w, "its clock differs by 3s") || strings.Contains(w, "configuration") {
		t.Errorf("before a minute: %s", w)
	}
	facts(b, "2", "2")
	f.run(2 * differTime)
	if w := fmt.Sprint(a.row("b").Warnings); !strings.Contains(w, "configuration") || !strings.Contains(w, "key file") {
		t.Errorf("after two minutes: %s", w)
	}
	facts(b, "1", "1")
	f.run(time.Second)
	if w := fmt.Sprint(a.row("b").Warnings); strings.Contains(w, "configuration") || strings.Contains(w, "key file") {
		t.Errorf("when they are equal again: %s", w)
	}
	facts(b, "2", "1")
	f.run(2 * differTime)
	for text, want := range map[string]int{"clocks": 1, "configurations": 2, "key files": 1} {
		if n := count(a.logged, text); n != want {
			t.Errorf("%d warnings about %s, want %d: %q", n, text, want, a.logged)
		}
	}
}

// A draining node is a member, but the home of no session.
func TestDraining(t *testing.T) {
	f, a, _, c := three(t)
	f.step(c, message.DrainNode{})
	f.run(10 * time.Millisecond)
	if r := a.row("c"); r.State != status.NodeDraining || !a.view.Member(c.state.own.incarnation).Draining {
		t.Errorf("%+v", r)
	}
	f.checkRest("while c drains")
	for i := range 50 {
		if m := a.view.Home(fmt.Sprint(i)); m.Node == "c" {
			t.Fatal("a draining node is home")
		}
	}
}

// A revocation reaches all nodes at once, wins over a restoration at the same time, and is forgotten after a day.
func TestRevocations(t *testing.T) {
	f, a, b, c := three(t)
	f.step(a, message.RevokeHolders{Holders: []string{"key:x", "key:y", strings.Repeat("x", cluster.MaxHolder+1)}})
	f.run(10 * time.Millisecond)
	for _, n := range f.nodes {
		if !equalSets(n.holders, map[string]bool{"key:x": true, "key:y": true}) {
			t.Errorf("%s: %v", n.name, n.holders)
		}
	}
	f.step(b, message.RevokeHolders{Holders: []string{"key:x"}}) // its file follows
	f.step(c, message.RestoreHolders{Holders: []string{"key:y", "key:unknown"}})
	f.run(10 * time.Millisecond)
	if !equalSets(a.holders, map[string]bool{"key:x": true}) || a.state.revoked.entries["key:x"].number != 1 || len(a.state.revoked.entries) != 2 {
		t.Errorf("%v", a.holders)
	}
	f.step(a, message.RestoreHolders{Holders: []string{"key:x"}})
	f.step(b, message.RestoreHolders{Holders: []string{"key:x"}})
	f.step(b, message.RevokeHolders{Holders: []string{"key:x"}})
	f.run(10 * time.Millisecond)
	f.checkRest("after changes at two nodes")
	if !a.holders["key:x"] {
		t.Error("a restoration wins over a later revocation")
	}
	a.state.sweep(f.now.Add(revokedTime - time.Second))
	if len(a.state.revoked.entries) != 2 {
		t.Error("a revocation is forgotten too early")
	}
	a.state.sweep(f.now.Add(revokedTime))
	if len(a.state.revoked.entries) != 0 || a.state.revoked.digest != 0 {
		t.Error("a revocation is not forgotten")
	}
	f.run(5 * time.Second)
	f.checkRest("after a node has forgotten") // it has learned them again, because the others still know them
}

// The number of revocations is limited; the oldest are forgotten first. A revocation keeps its age when it
// is passed on.
func TestManyRevocations(t *testing.T) {
	r, now := newRevocations(), time.Unix(1000, 0)
	for i := range maxRevoked + 10 {
		r.change(now.Add(time.Duration(i)*time.Second), fmt.Sprint("key:", i), false)
	}
	if len(r.entries) != maxRevoked || r.entries["key:9"] != nil || r.entries["key:10"] == nil {
		t.Errorf("%d entries", len(r.entries))
	}
	other := newRevocations()
	now = now.Add(time.Duration(maxRevoked+10) * time.Second)
	for _, m := range r.sorted(now) {
		other.merge(now.Add(time.Hour), &m) // with another clock
	}
	if other.digest != r.digest || other.entries["key:10"].since != r.entries["key:10"].since.Add(time.Hour) {
		t.Errorf("%v, %v", other.entries["key:10"], r.entries["key:10"])
	}
	other.merge(now, &cluster.Revocation{Holder: "key:old", Number: 1, Age: int64(revokedTime / time.Second)})
	if other.entries["key:old"] != nil {
		t.Error("a revocation of yesterday is accepted")
	}
}

// bank records what a node was charged.
type bank struct {
	spent   []policy.Spent // what the node has spent since the last beat
	charged int
}

func (b *bank) TakeSpent(int) []policy.Spent {
	spent := b.spent
	b.spent = nil
	return spent
}

func (b *bank) Charge(_ time.Time, spent []policy.Spent) {
	for _, s := range spent {
		b.charged += s.Requests
	}
}

// What is spent at one node is charged once at each other node, although beats get lost or arrive twice, and although the
// node takes new incarnations.
func TestSpending(t *testing.T) {
	f, a, b, c := three(t)
	for _, n := range f.nodes {
		n.bank = &bank{}
		n.state.options.Rates = n.bank
	}
	f.lost, f.doubled, f.old = 300, 300, 300
	total := 0
	rate := config.Rate{Requests: 60, Per: time.Minute}
	for i := range 500 {
		a.bank.spent = append(a.bank.spent, policy.Spent{Principal: fmt.Sprint("key:", i%3), Rate: rate, Requests: i % 7})
		total += i % 7
		f.run(37 * time.Millisecond)
		if i == 200 {
			f.after(0, a, message.Heard{Subject: cluster.SubjectVerdict, Payload: (&cluster.Verdict{Cluster: "prod", By: b.state.own.incarnation, Incarnation: a.state.own.incarnation}).Encode()})
		}
	}
	f.calm()
	f.run(time.Second)
	for _, n := range []*node{b, c} {
		if lost := total - n.bank.charged; lost < 0 || lost > total/50 {
			t.Errorf("%s was charged %d of %d", n.name, n.bank.charged, total)
		}
	}
	if a.bank.charged != 0 {
		t.Errorf("a was charged %d for what it has spent itself", a.bank.charged)
	}
}

// However much principals spend, a beat fits in a message.
func TestSpendingOfManyPrincipals(t *testing.T) {
	var s spending
	for range 20 {
		var round []policy.Spent
		for i := range s.room() {
			round = append(round, policy.Spent{Principal: fmt.Sprint("key:", i, s.room()), Rate: config.Rate{Requests: 1, Per: time.Hour}, Requests: 1})
		}
		s.push(round)
		if n := len(s.entries()); n > cluster.MaxSpent {
			t.Fatalf("%d principals in a beat", n)
		}
	}
}

// The state survives a panic of the actor, and the other nodes do not notice.
func TestRestart(t *testing.T) {
	f, a, _, c := three(t)
	was := c.state.own.incarnation
	f.step(c, kernel.GoPanicked{})
	f.step(c, kernel.Started{})
	f.run(3 * time.Second)
	f.checkRest("after a restart")
	if c.state.own.incarnation != was || !a.sees("a", "b", "c") {
		t.Errorf("%s", describe(a.view))
	}
	beats := 0
	for _, e := range f.events {
		if _, ok := e.msg.(tick); ok && e.to == c {
			beats++
		}
	}
	if beats != 1 {
		t.Errorf("%d timers are set", beats)
	}
}

// A node that was stopped takes a new incarnation with the first message that it handles, whichever that is. However long
// it was stopped, it gives its peers the time to send a beat.
func TestFirstMessageAfterAStop(t *testing.T) {
	for _, stopped := range []time.Duration{500, 700, 850, 1000, 5000, 100000} {
		for name, msg := range map[string]func(*node) any{
			"timer":          func(n *node) any { return tick{n.state.own.generation} },
			"another's beat": func(*node) any { return message.Heard{Subject: cluster.SubjectBeat} },
			"settings":       func(*node) any { return message.NodeFacts{} },
		} {
			f, a, _, _ := three(t)
			was := a.state.own.incarnation
			f.now = a.state.own.ticked.Add(stopped * time.Millisecond)
			f.step(a, msg(a))
			if again := a.state.own.incarnation != was; again != (stopped > 900) {
				t.Errorf("%s after %d ms: a new incarnation: %v", name, stopped, again)
			}
			f.step(a, tick{a.state.own.generation})
			if !a.sees("a", "b", "c") {
				t.Errorf("%s after %d ms: %s", name, stopped, describe(a.view))
			}
		}
	}
}

// A node is not ready before it has applied the revoked keys that another node has sent. Nodes that start together do not
// rely on each other.
func TestReadyOnlyWithRevocations(t *testing.T) {
	f := newFabric(t, 1)
	a := f.start("a", 0)
	f.run(2 * time.Second)
	f.step(a, message.RevokeHolders{Holders: []string{"key:x"}})
	f.run(time.Second)
	b := f.start("b", 0)
	f.applyTime = 300 * time.Millisecond
	f.run(250 * time.Millisecond)
	if b.view.Ready() || !b.holders["key:x"] {
		t.Errorf("ready %v with %v", b.view.Ready(), b.holders)
	}
	f.run(300 * time.Millisecond)
	if !b.view.Ready() {
		t.Error("not ready although the keys are revoked")
	}
	f = newFabric(t, 1)
	a, b = f.start("a", 0), f.start("b", 0)
	f.run(joinTime - 100*time.Millisecond)
	if a.view.Ready() || b.view.Ready() {
		t.Error("nodes that start together are ready at once")
	}
}
