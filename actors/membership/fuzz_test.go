package membership

import (
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// Whatever other nodes send, the step does not panic, its tables stay bounded, and the node recovers.
func FuzzHeard(f *testing.F) {
	beat := cluster.Beat{Head: cluster.Head{Cluster: "prod", Node: "x", Incarnation: "xxxxxxx2", Speaks: cluster.Spoken}, Address: "x:1", Seq: 1,
		Former: []string{"yyyyyyy2"}, Revoked: "1", Spent: []cluster.Spending{{Principal: "key:a", Rate: "60/min", Requests: []int{1, 2}}}}
	verdict := cluster.Verdict{Cluster: "prod", By: "xxxxxxx2", Incarnation: "zzzzzzz2", Reason: "silent"}
	revoked := cluster.Revocations{Cluster: "prod", From: "xxxxxxx2", List: []cluster.Revocation{{Holder: "key:a", Number: 1, Age: 5}}}
	query := cluster.Query{Cluster: "prod", From: "xxxxxxx2", Kind: cluster.QueryRevocations}
	f.Add(byte(0), byte(5), beat.Encode())
	f.Add(byte(1), byte(0), verdict.Encode())
	f.Add(byte(2), byte(20), revoked.Encode())
	f.Add(byte(3), byte(0), []byte(`{"cluster":"prod","from":"xxxxxxx2","kind":"dead","incarnation":"xxxxxxx2"}`))
	f.Add(byte(4), byte(0), query.Encode())
	subjects := []string{cluster.SubjectBeat, cluster.SubjectVerdict, cluster.SubjectRevoked, cluster.SubjectHint}
	f.Fuzz(func(t *testing.T, kind, wait byte, payload []byte) {
		fab := newFabric(t, 1)
		a, b := fab.start("a", 0), fab.start("b", 0)
		b.bank = &bank{}
		b.state.options.Rates = b.bank
		fab.run(1100 * time.Millisecond)
		for range 3 {
			if kind %= 5; kind == 4 {
				fab.step(b, message.NodeQuery{Payload: payload, Reply: func([]byte) {}})
				fab.step(b, fetched{incarnation: a.state.own.incarnation, payload: payload})
			} else {
				fab.step(b, message.Heard{Subject: subjects[kind], Payload: payload})
			}
			fab.run(time.Duration(wait) * 10 * time.Millisecond)
		}
		fab.run(2*cluster.SilentAfter + heals)
		fab.checkRest("at the end")
	})
}
