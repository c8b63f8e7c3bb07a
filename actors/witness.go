package actors

import (
	"fmt"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/cluster"
)

// witnessTime is the interval at which a node tells the others the newest checkpoint of its audit log.
const witnessTime = time.Minute

// witnessDue arrives when witnessTime has passed.
type witnessDue struct{}

// Class returns Outcome, because only its timer sends the next one.
func (witnessDue) Class() kernel.Class { return kernel.Outcome }

// tellCheckpoint is the effect that tells the other nodes the newest checkpoint of the audit log.
type tellCheckpoint struct{}

// witnessDue tells the checkpoint and sets the timer for the next one.
func (*state) witnessDue(out []kernel.Effect) []kernel.Effect {
	return append(out, kernel.Act(tellCheckpoint{}), kernel.WakeAfter(witnessTime, witnessDue{}))
}

// startWitnessing begins to tell the other nodes the checkpoints of the audit log, and to quote theirs in it. bus passes on
// what they tell until the node leaves the cluster.
func (g *Gateway) startWitnessing(bus *memberBus) error {
	cancel, err := bus.Subscribe(cluster.SubjectAudit, func(payload []byte, _ func([]byte)) { g.witness(payload) })
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	bus.keep(cancel)
	g.self.Tell(witnessDue{})
	return nil
}

// witness quotes the checkpoint of another node in the audit log. It ignores messages of nodes that are no members.
func (g *Gateway) witness(payload []byte) {
	m, err := cluster.ParseAuditMark(payload)
	if err != nil || m.Cluster != g.cluster.Name || g.cluster.Members.Mine(m.From) {
		return
	}
	node, _, ok := g.cluster.Members.Resolve(m.From)
	if !ok {
		return
	}
	if err := g.audit.Witness(node, audit.Checkpoint{Key: m.Key, Line: m.Line}); err != nil {
		g.log.Debug("the checkpoint of another node's audit log was refused", "node", node, "err", err)
	}
}

// shareArguments makes the HMACs of arguments in the audit log with the key of the cluster's first secret.
func (g *Gateway) shareArguments() {
	if g.cluster != nil {
		g.audit.ShareArguments(g.cluster.Secrets.ArgumentsKeys()[0])
	}
}

// tellCheckpoint tells the other nodes the newest checkpoint of the audit log, if there is one. It also adopts the key of a
// rotated secret.
func (g *Gateway) tellCheckpoint() {
	g.shareArguments()
	c := g.audit.Checkpoint()
	if c == (audit.Checkpoint{}) {
		return
	}
	m := cluster.AuditMark{Cluster: g.cluster.Name, From: g.cluster.Members.Self(), Key: c.Key, Line: c.Line}
	g.cluster.Bus.Publish(cluster.SubjectAudit, m.Encode())
}
