package token

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/message"
	"goblin-actor/internal/authtest"
)

// ledger is a claim.Store in memory.
type ledger struct {
	mu       sync.Mutex
	stored   claim.Stored
	watches  map[int]func(claim.Stored)
	count    int
	down     bool // all calls fail
	loses    int  // so many Puts are stored, and their answers lost
	failures int
}

var errDown = errors.New("too few of the voters are reachable")

func (l *ledger) Get(context.Context) (claim.Stored, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.failures++
		return claim.Stored{}, errDown
	}
	return l.stored, nil
}

func (l *ledger) Put(_ context.Context, r claim.Record, revision uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.down:
		l.failures++
		return 0, errDown
	case l.stored.Revision != revision:
		return 0, claim.ErrChanged
	}
	l.stored = claim.Stored{Record: r, Revision: revision + 1}
	for _, tell := range l.watches {
		tell(l.stored)
	}
	if l.loses > 0 {
		l.loses--
		return 0, errDown
	}
	return l.stored.Revision, nil
}

func (l *ledger) Watch(handle func(claim.Stored)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	n := l.count
	l.watches[n] = handle
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watches, n)
	}
}

func (l *ledger) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// shared is a world whose login three actors share, as three nodes do.
type shared struct {
	*world
	ledger *ledger
	nodes  []*Handle
	tags   atomic.Uint64
}

func newShared(t *testing.T, f authtest.Faults) *shared {
	s := &shared{ledger: &ledger{watches: map[int]func(claim.Stored){}}}
	s.world = newWorld(t, f, func(o *Options) {
		o.Shared, o.NewTag = s.ledger, func() string { return fmt.Sprint("tag", s.tags.Add(1)) }
	})
	s.nodes = []*Handle{s.handle}
	for _, name := range []string{"b", "c"} {
		o := s.opts
		o.Key = "files at " + name
		s.nodes = append(s.nodes, s.spawn(o))
	}
	return s
}

// until waits until ok returns true.
func (s *shared) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func (s *shared) agree(what string) {
	s.t.Helper()
	s.until(what, func() bool {
		first := s.nodes[0].Authorization()
		return first != "" && s.nodes[1].Authorization() == first && s.nodes[2].Authorization() == first
	})
}

// all sends a request from each node, and requires the status.
func (s *shared) all(what string, want int) {
	s.t.Helper()
	for i, n := range s.nodes {
		if status, v := s.get(n); status != want {
			s.t.Errorf("%s: node %d: status %d, %v; want %d", what, i, status, v.Err, want)
		}
	}
}

// A login on one node is the login of all nodes, and renewed by one of them at a time: the authorization server rotates refresh tokens and
// ends a login whose refresh token is used twice.
func TestLoginIsShared(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.all("before the login", 401)
	s.logIn()
	s.agree("all nodes have the login")
	s.all("after the login", 200)
	for range maxForced {
		before := s.issuer.Refreshes()
		s.issuer.Revoke(false)
		var running sync.WaitGroup
		for _, n := range s.nodes {
			running.Go(func() {
				if status, v := s.get(n); status != 200 {
					t.Errorf("status %d, %v", status, v.Err)
				}
			})
		}
		running.Wait()
		if n := s.issuer.Refreshes() - before; n < 1 || n > 3 {
			t.Errorf("%d renewals", n)
		}
	}
	// All copies are in the state files.
	for _, key := range []string{"files", "files at b", "files at c"} {
		s.store.until(t, "the copy of "+key, func() bool { return strings.Contains(string(s.store.values[key]), "refresh-") })
	}
}

// An answer of the records that is lost does no harm.
func TestSharedLoginWithLostAnswers(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	for range 3 {
		s.issuer.Revoke(false)
		s.ledger.set(func() { s.ledger.loses = 1 })
		s.until("a node has renewed", func() bool { status, _ := s.get(s.nodes[0]); return status == 200 })
		s.agree("the others use the new token")
		s.all("afterwards", 200)
	}
}

// While the records are unavailable no node renews. The access token is used until its end, also after a restart. Then requests fail with an
// error that says what is missing.
func TestSharedLoginWithoutQuorum(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	s.store.until(t, "the copy of b", func() bool { return s.store.values["files at b"] != nil })
	s.ledger.set(func() { s.ledger.down = true })
	s.all("with the old token", 200)
	o := s.opts
	o.Stored = s.store.get("files at b")
	started := s.spawn(o)
	s.until("the copy is used after a restart", func() bool { return started.Authorization() != "" })
	before := s.issuer.Refreshes()
	s.issuer.Revoke(false)
	for _, n := range append(s.nodes, started) {
		status, v := s.get(n)
		if status != 401 || v.Err == nil || !strings.Contains(v.Err.Error(), errDown.Error()) {
			t.Errorf("status %d, %v", status, v.Err)
		}
	}
	if n := s.issuer.Refreshes(); n != before {
		t.Errorf("%d renewals without quorum", n-before)
	}
	s.ledger.set(func() { s.ledger.down = false })
	s.until("the login is renewed when the records are back", func() bool { status, _ := s.get(s.nodes[0]); return status == 200 })
	s.agree("all nodes have the new token")
	s.all("afterwards", 200)
}

// The authorization server ends the login: all nodes need a new one, and get it.
func TestSharedLoginEnds(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	s.issuer.Revoke(true)
	s.all("after its end", 401)
	s.until("no node has a token", func() bool {
		return s.nodes[0].Authorization()+s.nodes[1].Authorization()+s.nodes[2].Authorization() == ""
	})
	s.logIn()
	s.agree("all nodes have the new login")
	s.all("after the new login", 200)
}

// A logout on one node ends the login on all nodes. If several nodes log out, only one of them revokes the tokens.
func TestSharedLogout(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	for round, who := range [][]int{{1}, {0, 1, 2}, {2, 2}} {
		s.logIn()
		s.agree("all nodes have the login")
		before := len(s.issuer.Seen("/revoke"))
		var replies []chan message.LoginFinished
		for _, n := range who {
			reply := make(chan message.LoginFinished, 1)
			s.nodes[n].Actor().Tell(message.EndLogin{Reply: reply})
			replies = append(replies, reply)
		}
		for _, reply := range replies {
			if done := <-reply; done.Err != nil {
				t.Errorf("round %d: %v", round, done.Err)
			}
		}
		s.until("no node has a token", func() bool {
			return s.nodes[0].Authorization()+s.nodes[1].Authorization()+s.nodes[2].Authorization() == ""
		})
		if n := len(s.issuer.Seen("/revoke")) - before; n != 1 {
			t.Errorf("round %d: the authorization server was told %d times", round, n)
		}
		for _, key := range []string{"files", "files at b", "files at c"} {
			s.store.until(t, "the copy of "+key+" is gone", func() bool { return s.store.values[key] == nil })
		}
		if s.ledger.stored.Ended == 0 || s.ledger.stored.Value != nil {
			t.Errorf("round %d: the record is not empty", round)
		}
		s.all("after the logout", 401)
	}
	// A node that was stopped meanwhile has a copy. It learns of the end.
	s.logIn()
	s.agree("all nodes have the login")
	o := s.opts
	o.Stored, o.Key = s.store.get("files"), "files at d"
	reply := make(chan message.LoginFinished, 1)
	s.handle.Actor().Tell(message.EndLogin{Reply: reply})
	<-reply
	late := s.spawn(o)
	s.until("the late node has no token", func() bool { status, _ := s.get(late); return status == 401 && late.Authorization() == "" })
}

// A logout during a renewal on another node ends the login.
func TestSharedLogoutDuringRenewal(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	s.issuer.Set(func(f *authtest.Faults) { f.TokenDelay = 300 * time.Millisecond })
	s.issuer.Revoke(false)
	before := s.issuer.Refreshes()
	renewing := make(chan int)
	go func() { status, _ := s.get(s.nodes[0]); renewing <- status }()
	s.until("the renewal is in progress", func() bool { return s.issuer.Refreshes() > before })
	reply := make(chan message.LoginFinished, 1)
	s.nodes[1].Actor().Tell(message.EndLogin{Reply: reply})
	if done := <-reply; done.Err != nil {
		t.Error(done.Err)
	}
	if status := <-renewing; status != 401 {
		t.Errorf("the request was answered with %d", status)
	}
	if len(s.issuer.Seen("/revoke")) == 0 {
		t.Error("the authorization server was not told")
	}
	s.all("afterwards", 401)
	if s.ledger.stored.Ended == 0 {
		t.Error("the renewal has restored the login")
	}
}

// Without a quorum, a logout gets an error. It still revokes the tokens, so the login ends on the other nodes, too.
func TestSharedLogoutWithoutQuorum(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	s.ledger.set(func() { s.ledger.down = true })
	reply := make(chan message.LoginFinished, 1)
	s.handle.Actor().Tell(message.EndLogin{Reply: reply})
	if done := <-reply; done.Err == nil || !strings.Contains(done.Err.Error(), errDown.Error()) {
		t.Errorf("%v", done.Err)
	}
	if n := len(s.issuer.Seen("/revoke")); n != 1 {
		t.Errorf("the authorization server was told %d times", n)
	}
	for range 3 { // a pool repeats it, to learn whether the record is empty
		s.handle.Actor().Tell(message.EndLogin{Reply: reply})
		if done := <-reply; !errors.Is(done.Err, message.ErrStillShared) {
			t.Errorf("%v", done.Err)
		}
	}
	s.ledger.set(func() { s.ledger.down = false })
	s.until("the record is empty", func() bool { s.ledger.mu.Lock(); defer s.ledger.mu.Unlock(); return s.ledger.stored.Ended != 0 })
	s.until("no node has a token", func() bool {
		return s.nodes[0].Authorization()+s.nodes[1].Authorization()+s.nodes[2].Authorization() == ""
	})
}

// The actor that claims the login is stopped. Another one takes the claim over after a minute; until then the old token is used.
func TestSharedLoginFromCopy(t *testing.T) {
	s := newShared(t, authtest.Faults{})
	s.logIn()
	s.agree("all nodes have the login")
	s.store.until(t, "the copy", func() bool { return s.store.values["files"] != nil })
	s.ledger.set(func() { s.ledger.stored = claim.Stored{} }) // the voters have lost their disks
	o := s.opts
	o.Stored = s.store.get("files")
	late := s.spawn(o)
	s.until("the record is restored from the copy", func() bool {
		s.ledger.mu.Lock()
		defer s.ledger.mu.Unlock()
		return s.ledger.stored.Revision != 0
	})
	if status, v := s.get(late); status != 200 {
		t.Errorf("status %d, %v", status, v.Err)
	}
}
