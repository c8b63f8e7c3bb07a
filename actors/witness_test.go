package actors

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// auditedNode starts a gateway without servers as a node with an audit log.
func auditedNode(t *testing.T, net *actortest.Network, node, path string) *Gateway {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Name: "prod", Node: node, Address: node + ":8731", Secrets: secrets, Members: cluster.NewMembers(cluster.NewIncarnation()), Bus: net.Bus(node)}
	cfg := config.Default()
	cfg.Audit.File = path
	g, err := Start(&cfg, Options{Log: slog.New(slog.DiscardHandler), Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Once a minute, members of a cluster quote each other's audit logs. A removed end of one log shows in the others. Messages
// of other clusters, of processes that are no members and with invalid signatures are ignored, and so is a member that
// speaks for another one.
func TestMembersWitnessEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, net := t.TempDir(), actortest.NewNetwork(ErrNoNode)
		path := func(node string) string { return filepath.Join(dir, node+".jsonl") }
		nodes := map[string]*Gateway{}
		for _, node := range []string{"a", "b", "c"} {
			nodes[node] = auditedNode(t, net, node, path(node))
		}
		time.Sleep(5 * time.Second)
		valid := nodes["b"].audit.Checkpoint()
		if valid == (audit.Checkpoint{}) {
			t.Fatal("the log of b has no checkpoint")
		}
		for _, m := range []cluster.AuditMark{
			{Cluster: "other", From: nodes["b"].cluster.Members.Self(), Key: valid.Key, Line: valid.Line},
			{Cluster: "prod", From: cluster.NewIncarnation(), Key: valid.Key, Line: valid.Line},
			{Cluster: "prod", From: nodes["c"].cluster.Members.Self(), Key: valid.Key, Line: valid.Line},
			{Cluster: "prod", From: nodes["b"].cluster.Members.Self(), Key: valid.Key, Line: strings.Replace(valid.Line, `"n":1,`, `"n":9,`, 1)},
			{},
		} {
			net.Bus("x").Publish(cluster.SubjectAudit, m.Encode())
		}
		time.Sleep(3 * time.Second)
		if s := nodes["a"].audit.State(); s.Sequence != 2 { // the first line and the start
			t.Errorf("got %d lines, want that invalid messages are ignored", s.Sequence)
		}
		for range 5 {
			nodes["b"].RecordAct("restart", "", "", nil)
			time.Sleep(time.Minute)
		}
		if err := nodes["b"].cluster.Secrets.Replace([]string{strings.Repeat("y", cluster.MinSecret)}); err != nil {
			t.Fatal(err)
		}
		nodes["b"].audit.Record(audit.Record{Event: audit.EventCall, Arguments: []byte("{}")})
		time.Sleep(2 * time.Minute)
		nodes["b"].audit.Record(audit.Record{Event: audit.EventCall, Arguments: []byte("{}")})
		for _, g := range nodes {
			stopMember(t, g)
		}
		var args []string
		for _, line := range auditLines(t, path("b")) {
			if line.Event == audit.EventCall {
				args = append(args, line.Args)
			}
		}
		if len(args) != 2 || args[0][:9] == args[1][:9] {
			t.Errorf("got HMACs %q, want two keys", args)
		}
		if n := net.Subscriptions(); n > 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		verify := func() audit.ClusterReport {
			var logs []audit.NodeLog
			for _, node := range []string{"a", "b", "c"} {
				logs = append(logs, audit.NodeLog{Name: node, Files: audit.Files(path(node))})
			}
			r, err := audit.VerifyNodes(logs, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		for _, log := range verify().Logs {
			if log.Fault != nil || log.Seen == 0 {
				t.Errorf("%s: fault %v, quoted up to n=%d", log.Name, log.Fault, log.Seen)
			}
		}
		raw, err := os.ReadFile(path("b"))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := bytes.Cut(raw, []byte("\n"))
		if err := os.WriteFile(path("b"), append(first, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, log := range verify().Logs {
			if cut := log.Fault != nil && strings.Contains(log.Fault.What, "the end of the log was removed"); cut != (log.Name == "b") {
				t.Errorf("%s: %v", log.Name, log.Fault)
			}
		}
	})
}

// A gateway that runs alone tells nothing, and sets no timer.
func TestAloneWitnessesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config.Default()
		cfg.Audit.File = filepath.Join(t.TempDir(), "audit.jsonl")
		g, err := Start(&cfg, Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if c := g.audit.Checkpoint(); c != (audit.Checkpoint{}) {
			t.Errorf("got %+v", c)
		}
		stopMember(t, g)
		for _, line := range auditLines(t, cfg.Audit.File) {
			if line.Node != "" || line.Event == audit.EventWitness {
				t.Errorf("got %+v", line)
			}
		}
	})
}
