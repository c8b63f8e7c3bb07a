package actors

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
)

// A program that may write the records of a cluster copies the login of ann to the place of bob, and to that of another server. A node does
// not use it there, neither when it reads the record nor when it is notified.
func TestAttack108LoginRecordMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &loginTable{values: map[string][]byte{}, revision: map[string]uint64{}}
		node := shareLogins(table, secretsOf(t, cluster.NewSecret()), slog.New(slog.DiscardHandler))
		ann, bob, other := message.LoginKey{Entry: "safe", Lane: "ann"}, message.LoginKey{Entry: "safe", Lane: "bob"}, message.LoginKey{Entry: "other", Lane: "ann"}
		if _, err := node.store(ann).Put(t.Context(), claim.Record{Value: []byte(`"token of ann"`), Version: "v"}, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stolen := table.values[placeOf(ann)]
		for _, victim := range []message.LoginKey{bob, other} {
			var notified []claim.Stored
			cancel := node.store(victim).Watch(func(s claim.Stored) { notified = append(notified, s) })
			if _, err := table.Put(t.Context(), placeOf(victim), stolen, 0); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			found, err := node.store(victim).Get(t.Context())
			if err != nil || found.Invalid == nil || found.Value != nil {
				t.Errorf("%v: the record is %+v, %v", victim, found, err)
			}
			for _, s := range notified {
				if s.Value != nil {
					t.Errorf("%v: the node was notified of %+v", victim, s)
				}
			}
			if len(notified) == 0 {
				t.Errorf("%v: the node was not notified of the record", victim)
			}
		}
		if found, err := node.store(ann).Get(t.Context()); err != nil || found.Invalid != nil || !strings.Contains(string(found.Value), "ann") {
			t.Errorf("the login of ann is %+v, %v", found, err)
		}
	})
}
