package membership

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/message"
)

var storms = flag.Int("storms", 60, "number of random stories")

// heals is the time after a fault in which all nodes agree again.
const heals = 2 * time.Second

// Random faults end, and then all nodes agree within two seconds: each session has one home, no incarnation is a member
// after its verdict, revocations are known everywhere, and nothing is left behind.
func TestStorms(t *testing.T) {
	for seed := range uint64(*storms) {
		f := newFabric(t, seed)
		for i := range 3 {
			f.start(string(rune('a'+i)), time.Duration(f.rng.IntN(3)-1)*time.Duration(f.rng.IntN(100))*time.Hour)
			f.run(time.Duration(f.rng.IntN(300)) * time.Millisecond)
		}
		for round := range 8 {
			what := f.fault()
			f.run(time.Duration(f.rng.IntN(4000)) * time.Millisecond)
			f.calm()
			for _, n := range f.nodes {
				n.stalled = time.Time{}
			}
			f.run(heals)
			f.checkRest(fmt.Sprintf("seed %d, round %d, after %s", seed, round, what))
			if t.Failed() {
				return
			}
		}
		f.checkForgotten()
	}
}

// fault begins a random fault, and sometimes changes a key file meanwhile.
func (f *fabric) fault() string {
	a := f.nodes[f.rng.IntN(len(f.nodes))]
	b := f.nodes[f.rng.IntN(len(f.nodes))]
	if holder := fmt.Sprint("key:", f.rng.IntN(5)); f.chance(500) {
		f.call(time.Duration(f.rng.IntN(1000))*time.Millisecond, func() {
			if !a.dead {
				f.after(0, a, message.RevokeHolders{Holders: []string{holder}})
			}
			if !b.dead && f.chance(300) {
				f.after(0, b, message.RestoreHolders{Holders: []string{holder}})
			}
		})
	}
	switch f.rng.IntN(9) {
	case 0:
		f.lost = 50 + f.rng.IntN(450)
		return "lost messages"
	case 1:
		f.cut = func(from, to *node) bool { return from == a && to == b }
		return "a link cut one way"
	case 2:
		f.cut = func(from, to *node) bool { return from == a && to == b || from == b && to == a }
		return "a link cut both ways"
	case 3:
		f.cut = func(from, to *node) bool { return (from == a) != (to == a) }
		return "a node parted"
	case 4:
		f.stall(a, time.Duration(f.rng.IntN(4000))*time.Millisecond)
		return "a node stalled"
	case 5:
		f.kill(a)
		if f.chance(500) {
			f.after(0, b, message.NodeRefused{Incarnation: a.state.own.incarnation})
		}
		f.start(a.name, a.skew)
		return "a node killed and started again"
	case 6:
		f.stop(a)
		f.run(time.Duration(f.rng.IntN(500)) * time.Millisecond)
		f.start(a.name, a.skew)
		return "a node stopped and started again"
	case 7:
		f.slow = time.Duration(1+f.rng.IntN(1500)) * time.Millisecond
		return "slow messages"
	}
	f.doubled, f.old = 200, 200
	return "doubled and old messages"
}

// checkForgotten checks that after a day at rest nothing of the faults is left.
func (f *fabric) checkForgotten() {
	for _, n := range f.nodes {
		s := n.state
		s.sweep(f.now.Add(n.skew + 25*time.Hour))
		if len(s.peers) != len(f.nodes)-1 || len(s.verdicts)+len(s.outsiders)+len(s.logs)+len(s.revoked.entries)+len(s.own.former) > 0 || s.revoked.digest != 0 {
			f.t.Errorf("%s: after a day: %d peers, %d verdicts, %d outsiders, %d revocations, %d former incarnations",
				n.name, len(s.peers), len(s.verdicts), len(s.outsiders), len(s.revoked.entries), len(s.own.former))
		}
		for _, p := range s.peers {
			if p.probing || p.fetching {
				f.t.Errorf("%s: a query is in progress", n.name)
			}
		}
	}
}

// BenchmarkSecond measures what a second costs each of three nodes, without the bus.
func BenchmarkSecond(b *testing.B) {
	f := newFabric(b, 1)
	for i := range 3 {
		f.start(string(rune('a'+i)), 0)
	}
	f.run(2 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		f.run(time.Second)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/node-s")
}
