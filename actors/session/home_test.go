package session

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

const (
	nodeA = "aaaaaaa2"
	nodeB = "bbbbbbb2"
)

// viewOf returns the view of the node self, with these members.
func viewOf(self string, members ...string) *cluster.View {
	var list []cluster.Member
	for _, m := range members {
		list = append(list, cluster.Member{Incarnation: m, Node: m[:1], Address: m + ":1"})
	}
	return cluster.NewView(self, nil, list)
}

// adopting makes the session take a view into account, and returns what it does.
func (k *conversation) adopting(view *cluster.View) (list []any) {
	for _, e := range k.s.adopt(time.Unix(1000, 0), view, nil) {
		list = append(list, cmpOr(e.Act, e.Msg))
	}
	return list
}

func cmpOr(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

func clusterID(t *testing.T, incarnation string) string {
	t.Helper()
	secrets, err := cluster.NewSecrets([]string{cluster.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	id, err := secrets.SealSession(incarnation, &cluster.SessionFacts{Version: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func streamOn(lastEvent string) message.StreamOpened {
	return message.StreamOpened{Stream: &downstream.EventStream{Origin: downstream.Origin{Path: "/mcp", LastEvent: lastEvent}}}
}

// A guest passes on what only the home can handle. When its node becomes the home, it accepts a stream and notifies it of all lists.
func TestGuestBecomesHome(t *testing.T) {
	k := newGuest(t)
	k.s.id = clusterID(t, nodeA)
	k.step(askingServer())
	if got := k.adopting(viewOf(nodeB, nodeA, nodeB)); got != nil || !k.s.isGuest() {
		t.Fatalf("while its home is a member: %v", got)
	}
	subscribe := k.from(subscribeR, 1)
	if got := one[passOn](t, acts(k.s, subscribe)); got.x != subscribe.Exchange {
		t.Errorf("subscribe: %+v", got)
	}
	if got := one[passOn](t, acts(k.s, streamOn(""))); got.stream == nil {
		t.Errorf("stream: %+v", got)
	}
	if got := one[passOn](t, acts(k.s, message.EndSession{Exchange: subscribe.Exchange})); !got.ends {
		t.Errorf("end: %+v", got)
	}
	if got := one[openStream](t, acts(k.s, streamOn(nodeB+"~1~x-p1-1"))); !got.resume {
		t.Errorf("the stream of a call of this guest: %+v", got)
	}
	k.adopting(viewOf(nodeB, nodeB))
	if k.s.isGuest() || k.s.idleLimit() != k.s.limits.SessionIdle {
		t.Fatal("it is still a guest")
	}
	if got, want := k.step(streamOn("")), "stream 0, notifications/tools/list_changed, notifications/prompts/list_changed, notifications/resources/list_changed"; got != want {
		t.Errorf("stream: %q, want %q", got, want)
	}
	if got := k.step(k.from(subscribeR, 2)); got == "" || len(k.s.subs.active) != 1 {
		t.Errorf("subscribe: %q", got)
	}
}

// A home that finds that another node is the home closes its streams and ends its subscriptions. Requests that wait for a server
// are answered when it has answered, and those that wait for the gateway are refused.
func TestHomeBecomesGuest(t *testing.T) {
	k := opened(t, 0)
	k.s.id = clusterID(t, nodeA)
	k.adopting(viewOf(nodeA, nodeA, nodeB))
	k.step(streamOn(""))
	k.step(k.from(subscribeR, 1))
	k.s.principal.who = key("alice", nil)
	reserving := k.from(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"file:///r"}}`)
	reserving.Who = k.s.principal.who
	put(&k.s.subs.reserving, 99, &reservation{x: reserving.Exchange, resource: clientsubs.Resource{Server: "one", URI: "file:///other"}, count: 1})
	got := k.adopting(viewOf("ccccccc2", nodeB))
	var what []string
	for _, a := range got {
		what = append(what, fmt.Sprintf("%T", a))
	}
	for _, want := range []string{"session.closeStream", "reply.Answer", "kernel.Wake"} {
		if !slices.Contains(what, want) {
			t.Errorf("no %s in %q", want, what)
		}
	}
	if !k.s.isGuest() || len(k.s.streams) > 0 || len(k.s.subs.active) > 0 || len(k.s.subs.pending) != 1 || k.s.idleLimit() != guestIdle {
		t.Errorf("%+v", k.s.subs)
	}
	for seq := range k.s.subs.pending {
		if got := k.step(message.SubscribeURIResult{Seq: seq}); got != "result" {
			t.Errorf("the server's answer: %q", got)
		}
	}
	released := 0
	for _, e := range step(k.s, time.Unix(1000, 0), message.ReserveSubscriptionsResult{Seq: 99}, nil) {
		if m, ok := e.Msg.(message.ReleaseSubscriptions); ok {
			released += m.Count
		}
	}
	if released != 1 || len(k.s.subs.active) > 0 {
		t.Errorf("%d reservations are released", released)
	}
	k.s.principal.who = nil
	if got := k.step(k.from(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)); got != "result" {
		t.Errorf("ping: %q", got)
	}
	if got := acts(k.s, idleCheck{}); got != nil {
		t.Errorf("the timer of the home: %v", got)
	}
	if got := k.adopting(viewOf("ccccccc2", "ccccccc2")); len(got) != 1 || got[0] != (moved{}) || k.s.isGuest() {
		t.Errorf("home again: %v", got)
	}
	if got := acts(k.s, kernel.Stopping{}); one[guestEnded](t, got).last == 0 {
		t.Error("later guests would use the same numbers")
	}
}

// A guest may already be about to end when its node becomes the home of the session. Then only the guest ends: the session goes on, and
// the other nodes do not hear that it has ended.
func TestGuestEndsBeforeItBecomesHome(t *testing.T) {
	k := newGuest(t)
	k.s.id = clusterID(t, nodeA)
	s := &session{Options: guestOptions(&cluster.SessionFacts{}, new(atomic.Uint64)), state: k.s}
	s.Metrics, s.Members = status.NewMetrics(), cluster.NewMembers(nodeB)
	s.Members.Set(viewOf(nodeB, nodeA, nodeB))
	now := time.Unix(1000, 0)
	s.Step(now, kernel.Started{}, nil)
	s.Step(now, HomeAnswer{Life: cluster.SessionLives}, nil)
	ends := slices.ContainsFunc(s.Step(now.Add(guestIdle), idleCheck{}, nil), func(e kernel.Effect) bool { return e.Act == any(kernel.SelfStop{}) })
	if !ends {
		t.Fatal("the idle guest does not end")
	}
	s.Members.Set(viewOf(nodeB, nodeB))
	for _, e := range s.Step(now.Add(guestIdle), kernel.Stopping{}, nil) {
		_, remembers := e.Msg.(message.RememberEnded)
		if _, tells := e.Act.(tellNodes); tells || remembers {
			t.Errorf("%+v", e)
		}
	}
	if !k.s.isGuest() {
		t.Error("it has become the home")
	}
}

// Without a home in the view, a session stays what it is.
func TestNoHomeInView(t *testing.T) {
	k := newGuest(t)
	k.s.id = clusterID(t, nodeA)
	if got := k.adopting(viewOf(nodeB)); got != nil || !k.s.isGuest() {
		t.Errorf("%v", got)
	}
}
