package clientcalls

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// A request waits until all the lists it needs have arrived or lookupWait has passed, and it waits at most once. The
// number of waiting requests is limited.
func TestLookups(t *testing.T) {
	var s lookups[int]
	var seq uint64
	servers := []*catalog.Server{{Name: "one"}, {Name: "two"}}
	begin := func(request int) (seqs []uint64, id uint64, waits bool) {
		out, waits := s.begin(request, servers, []protocol.ItemKind{protocol.Tools}, kernel.Reference{}, &seq, nil)
		for _, e := range out {
			switch m := e.Msg.(type) {
			case message.Refresh:
				seqs = append(seqs, m.Seq)
			case nil:
				id = e.Act.(kernel.Wake).Msg.(lookupOver).id
			}
		}
		return seqs, id, waits
	}
	seqs, id, waits := begin(1)
	if !waits || len(seqs) != 2 || id == 0 {
		t.Fatalf("asked %v, timer %d", seqs, id)
	}
	if _, done := s.refreshed(seqs[0]); done {
		t.Error("done after one of two answers")
	}
	if _, done := s.refreshed(seqs[0]); done {
		t.Error("done after the same answer twice")
	}
	if r, done := s.refreshed(seqs[1]); !done || r != 1 {
		t.Errorf("after both answers: %d, %v", r, done)
	}
	if _, found := s.over(lookupOver{id}); found {
		t.Error("its time is over after it is done")
	}
	seqs, id, _ = begin(2)
	_, _ = s.refreshed(seqs[0])
	if r, found := s.over(lookupOver{id}); !found || r != 2 {
		t.Errorf("when its time is over: %d, %v", r, found)
	}
	if _, done := s.refreshed(seqs[1]); done {
		t.Error("a late answer counts")
	}
	for i := range 2 * maxLookups {
		if _, _, waits := begin(i); waits != (i < maxLookups) {
			t.Fatalf("request %d waits: %v", i, waits)
		}
	}
	if r, found := s.cancel(func(r int) bool { return r == 7 }); !found || r != 7 || len(s.waiting) != maxLookups-1 {
		t.Errorf("withdrawn: %d, %v, %d left", r, found, len(s.waiting))
	}
	s = lookups[int]{again: true}
	if _, _, waits := begin(1); waits {
		t.Error("a request waits a second time")
	}
}

// A request for a name that only a server with unknown lists may offer waits for the server's pool, because a client
// may call right after a login, before the catalog shows it. Afterwards the request is refused: a login is needed or,
// if the login is done, the server is still starting.
func TestLookupOfAServerThatNeedsALogin(t *testing.T) {
	x := &downstream.Exchange{}
	x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_x"}}`)
	missing := &protocol.Fault{Name: protocol.ToolNotFound, Tool: "one_x"}
	for _, done := range []bool{false, true} {
		login := &catalog.Login{Command: "goblin-actor login one", URL: func() string { return "" }, Done: done}
		source := catalog.Source{Server: &catalog.Server{Name: "one", Settled: true, Login: login}}
		view := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{PageSize: 10}).Whole()
		var s lookups[int]
		var seq uint64
		out, fault, waits := s.find(1, view, x, missing, kernel.Reference{}, &seq, nil)
		if !waits || fault != nil || len(out) == 0 {
			t.Errorf("logged in %v: waits %v, %v", done, waits, fault)
		}
		s.again = true
		want := protocol.NeedsLogin
		if done {
			want = protocol.ServerUnavailable
		}
		if _, fault, waits = s.find(1, view, x, missing, kernel.Reference{}, &seq, nil); waits || fault == nil || fault.Name != want || !fault.Retryable {
			t.Errorf("logged in %v, when it has waited: %v, %v", done, waits, fault)
		}
	}
}

// A step does not create a login link, because the link's seal depends on the time and random bytes. The link is
// created when the answer is written, a new one for each answer.
func TestLoginLinkIsCreatedWithTheAnswer(t *testing.T) {
	links := 0
	link := func() string { links++; return fmt.Sprint("https://x.test/", links) }
	for _, c := range []struct {
		url  func() string
		want []string
	}{
		{link, []string{`"loginUrl":"https://x.test/1"`, `log in at https://x.test/1"`}}, {link, []string{`"loginUrl":"https://x.test/2"`}},
		{func() string { return "" }, []string{`log in with: goblin-actor login one"`}},
	} {
		source := catalog.Source{Server: &catalog.Server{Name: "one", Rules: config.DefaultServer(), Settled: true, Login: &catalog.Login{Command: "goblin-actor login one", URL: c.url}}}
		naming := catalog.Naming{Namespace: config.Default().Namespace, URIStyle: "original", PageSize: 10}
		view, _ := catalog.Build(nil, []catalog.Source{source}, naming).View(catalog.Key{})
		x := &downstream.Exchange{}
		x.Frame, x.Params = actortest.Request(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_t"}}`)
		before := links
		s := lookups[int]{again: true}
		var seq uint64
		_, refusal, waits := s.find(1, view, x, &protocol.Fault{Name: protocol.ToolNotFound, Tool: "one_t"}, kernel.Reference{}, &seq, nil)
		if waits || refusal == nil || refusal.Name != protocol.NeedsLogin || links != before {
			t.Fatalf("refused with %v, waits: %v, %d links were made", refusal, waits, links-before)
		}
		got := string(refusal.AppendTo(nil, x.Frame.IDBytes(), protocol.EraLegacy))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if refusal.LoginURL != "" {
			t.Error("the fault itself was modified")
		}
	}
}
