package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/internal/cluster"
)

// loginTable is LoginRecords in memory.
type loginTable struct {
	mu       sync.Mutex
	values   map[string][]byte
	revision map[string]uint64
	last     uint64
	handle   []func(key string, value []byte, revision uint64, deleted bool)
	failing  int // so many of the next calls of Get fail
	moved    int // so many of the next calls of Put find another revision
}

func (r *loginTable) Get(_ context.Context, key string) ([]byte, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing > 0 {
		r.failing--
		return nil, 0, errors.New("no quorum")
	}
	return r.values[key], r.revision[key], nil
}

func (r *loginTable) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moved > 0 {
		r.moved--
		r.revision[key]++
	}
	if r.revision[key] != revision {
		return 0, ErrRecordChanged
	}
	r.last++
	r.values[key], r.revision[key] = value, r.last
	for _, handle := range r.handle {
		go handle(key, value, r.last, false)
	}
	return r.last, nil
}

func (*loginTable) Delete(context.Context, string, uint64) error { return nil }

func (r *loginTable) Watch(_ string, handle func(key string, value []byte, revision uint64, deleted bool)) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handle = append(r.handle, handle)
	for key, value := range r.values {
		go handle(key, value, r.revision[key], false)
	}
	return func() {}, nil
}

func secretsOf(t *testing.T, values ...string) *cluster.Secrets {
	t.Helper()
	s, err := cluster.NewSecrets(values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shareLogins(records LoginRecords, secrets *cluster.Secrets, log *slog.Logger) *sharedLogins {
	members := cluster.NewMembers("abcdefg2")
	return newSharedLogins(&Cluster{Logins: records, Secrets: secrets, Members: members}, log)
}

// After the first secret has changed on all nodes, all logins open without the old secret, and their content is the same: also those that
// were written meanwhile by a node with the old secret, those that are being renewed, and those that no actor of the node uses.
// Ended logins, and those that cannot be opened, stay as they are. Lost quorum and changes by others delay it.
func TestResealLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := cluster.NewSecret(), cluster.NewSecret()
		table := &loginTable{values: map[string][]byte{}, revision: map[string]uint64{}}
		a, b := secretsOf(t, old, fresh), secretsOf(t, old, fresh)
		log := slog.New(slog.DiscardHandler)
		nodeA, nodeB := shareLogins(table, a, log), shareLogins(table, b, log)
		write := func(by *sharedLogins, place string, r claim.Record) {
			store := &loginStore{by, place}
			found, _ := store.Get(t.Context())
			if _, err := store.Put(t.Context(), r, found.Revision); err != nil {
				t.Fatal(err)
			}
		}
		live := func(n int) claim.Record {
			return claim.Record{Value: fmt.Appendf(nil, `"token %d"`, n), Version: "v", Claim: strings.Repeat("c", n%2)}
		}
		for i := range 20 {
			write(nodeA, fmt.Sprintf("login.%02d", i), live(i))
		}
		write(nodeA, "login.ended", claim.Record{Version: "v", Ended: 1})
		table.values["login.strange"], table.revision["login.strange"] = secretsOf(t, cluster.NewSecret()).SealLogin("abcdefg2", "login.strange", nil), 1
		nodeA.reseal()
		if err := a.Replace([]string{fresh, old}); err != nil {
			t.Fatal(err)
		}
		table.failing, table.moved = 2, 3
		nodeA.reseal()
		time.Sleep(time.Minute)
		synctest.Wait()
		write(nodeB, "login.03", live(3)) // with the old secret
		if err := b.Replace([]string{fresh, old}); err != nil {
			t.Fatal(err)
		}
		nodeB.reseal()
		nodeB.reseal()
		time.Sleep(time.Minute)
		synctest.Wait()
		last := &loginStore{shareLogins(table, secretsOf(t, fresh), log), ""}
		for i := range 20 {
			last.place = fmt.Sprintf("login.%02d", i)
			if found, err := last.Get(t.Context()); err != nil || found.Invalid != nil || string(found.Value) != string(live(i).Value) || found.Claim != live(i).Claim {
				t.Errorf("login %d: %+v, %v", i, found, err)
			}
		}
		if table.revision["login.strange"] != 1 || a.SealedByFirst(table.values["login.ended"]) {
			t.Error("a record was sealed that should not be")
		}
		writes := table.last
		time.Sleep(time.Hour)
		synctest.Wait()
		if table.last != writes || nodeA.resealing.running || nodeB.resealing.running {
			t.Errorf("%d writes afterwards", table.last-writes)
		}
		table.failing = resealAttempts
		if err := a.Replace([]string{cluster.NewSecret(), fresh}); err != nil {
			t.Fatal(err)
		}
		nodeA.reseal()
		time.Sleep(time.Hour)
		synctest.Wait()
		if table.failing != 0 || nodeA.resealing.running || table.last != writes {
			t.Errorf("without a quorum: %+v, %d writes", nodeA.resealing, table.last-writes)
		}
	})
}
