package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
)

// noted returns an open session of node a whose notes go to other nodes.
func noted(t *testing.T, members ...string) *conversation {
	t.Helper()
	k := opened(t, 0)
	k.s.id, k.s.noting.sends = clusterID(t, nodeA), true
	k.adopting(viewOf(nodeA, members...))
	return k
}

// notes returns the notes that a message makes the session send, and what it answers.
func (k *conversation) notes(msg any) (sent []sendNote, dropped []dropNote, answers int) {
	for _, e := range step(k.s, time.Unix(1000, 0), msg, nil) {
		switch a := e.Act.(type) {
		case sendNote:
			sent = append(sent, a)
		case dropNote:
			dropped = append(dropped, a)
		}
	}
	return sent, dropped, answers
}

func seqOf(k *conversation) uint64 {
	for seq := range k.s.subs.pending {
		return seq
	}
	k.t.Fatal("no subscribe is pending")
	return 0
}

// A subscribe is answered when the heir has the note, or has not answered in time. Requests that arrive meanwhile are in the next
// note. A note that was not kept is sent again.
func TestNoteBeforeTheAnswer(t *testing.T) {
	k := noted(t, nodeA, nodeB)
	k.step(k.from(subscribeR, 1))
	sent, _, _ := k.notes(message.SubscribeURIResult{Seq: seqOf(k)})
	if len(sent) != 1 || sent[0].to != nodeB || !slices.Equal(sent[0].note.URIs, []string{"file:///r"}) || sent[0].note.Session != k.s.id {
		t.Fatalf("sent %+v", sent)
	}
	k.step(k.from(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`))
	var level uint64
	for seq := range k.s.client.pendingLevels {
		level = seq
	}
	if got := k.step(message.SetSessionLevelResult{Seq: level}); got != "" {
		t.Errorf("a second request, while the note is on its way: %q", got)
	}
	if got := k.step(noteSent{1, true}); got != "result" || !k.s.noting.sending {
		t.Errorf("the heir has the note: %q", got)
	}
	var again []kernel.Effect
	if again = step(k.s, time.Unix(1000, 0), noteSent{2, false}, nil); len(again) != 2 || len(k.s.noting.waiting) > 0 {
		t.Fatalf("the heir does not answer: %v", again)
	}
	if sent, _, _ = k.notes(noteDue{1}); len(sent) > 0 {
		t.Error("an old timer sends a note")
	}
	if sent, _, _ = k.notes(noteDue{2}); len(sent) != 1 || sent[0].note.Level != "error" || sent[0].note.Seq != 3 {
		t.Errorf("again: %+v", sent)
	}
}

// Without an heir, requests are answered at once, also those that wait for an heir that is gone.
func TestNoHeir(t *testing.T) {
	k := noted(t, nodeA)
	k.step(k.from(subscribeR, 1))
	if got := k.step(message.SubscribeURIResult{Seq: seqOf(k)}); got != "result" {
		t.Errorf("%q", got)
	}
	k = noted(t, nodeA, nodeB)
	k.step(k.from(subscribeR, 1))
	k.step(message.SubscribeURIResult{Seq: seqOf(k)})
	k.s.noting.waiting = append(k.s.noting.waiting, k.from(subscribeR, 7).Exchange)
	k.adopting(viewOf(nodeA, nodeA))
	if got := k.step(noteSent{1, false}); got != "result, result" {
		t.Errorf("its heir is gone: %q", got)
	}
}

// Another heir gets the note, and the former one forgets it, as it does when the session ends. When the gateway shuts down, it does
// not.
func TestHeirChanges(t *testing.T) {
	k := noted(t, nodeA, nodeB)
	k.step(k.from(subscribeR, 1))
	k.step(message.SubscribeURIResult{Seq: seqOf(k)})
	k.step(noteSent{1, true})
	joined := ""
	for i := 0; joined == ""; i++ { // a node that comes before b in the hash
		name := fmt.Sprintf("c%06x2", i)
		name = strings.NewReplacer("0", "x", "1", "y", "8", "z", "9", "w").Replace(name)
		if cluster.ValidIncarnation(name) && viewOf(nodeA, nodeA, nodeB, name).Heir(k.s.id).Incarnation == name {
			joined = name
		}
	}
	got := k.adopting(viewOf(nodeA, nodeA, nodeB, joined))
	if sent, dropped := one[sendNote](t, got), one[dropNote](t, got); sent.to != joined || dropped.from != nodeB || !dropped.note.Ended {
		t.Errorf("%+v", got)
	}
	if got := k.adopting(viewOf(nodeA, nodeA, nodeB, joined)); len(got) > 0 {
		t.Errorf("nothing has changed: %v", got)
	}
	_, dropped, _ := k.notes(kernel.Stopping{Reason: kernel.WhyShutdown})
	if len(dropped) > 0 {
		t.Error("the heir forgets the session when the gateway shuts down")
	}
	if _, dropped, _ = k.notes(kernel.Stopping{Reason: kernel.WhyAsked}); len(dropped) != 1 || dropped[0].from != joined {
		t.Errorf("%+v", dropped)
	}
}

// A home that becomes a guest gives its note to the gateway, which passes it on.
func TestNoteIsHandedOver(t *testing.T) {
	k := noted(t, nodeA, nodeB)
	k.step(k.from(subscribeR, 1))
	k.step(message.SubscribeURIResult{Seq: seqOf(k)})
	k.step(noteSent{1, true})
	kept := 0
	for _, e := range k.s.adopt(time.Unix(1000, 0), viewOf("ccccccc2", nodeB), nil) {
		if m, ok := e.Msg.(message.KeepNote); ok && len(m.Note.URIs) == 1 {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("the gateway gets %d notes", kept)
	}
}

// The next home takes the note: it sets the level and subscribes, and its first stream tells the client once of each resource. The
// note of another holder has no effect.
func TestNoteIsTaken(t *testing.T) {
	k := newGuest(t)
	k.s.id, k.s.noting.sends = clusterID(t, nodeA), true
	takes := false
	for _, a := range k.adopting(viewOf(nodeB, nodeB)) {
		if m, ok := a.(message.TakeNote); ok {
			takes = m.ID == k.s.id
		}
	}
	if !takes {
		t.Error("the new home does not ask for the note")
	}
	note := &cluster.Note{Session: k.s.id, Level: "error", URIs: []string{"file:///r", "file:///unknown"}}
	k.step(message.NoteTaken{Note: &cluster.Note{Session: k.s.id, Holder: "key:other", Level: "debug"}})
	if got := k.step(message.NoteTaken{Note: note}); got != "level error" || k.s.client.level != protocol.LevelError {
		t.Errorf("before the catalog: %q, level %s", got, k.s.client.level)
	}
	if got := k.step(askingServer()); got != "subscribing" || len(k.s.subs.active) != 1 {
		t.Errorf("with the catalog: %q", got)
	}
	if got := k.step(message.NoteTaken{Note: note}); got != "" {
		t.Errorf("the same note: %q", got)
	}
	if got := k.step(streamOn("")); !strings.HasSuffix(got, "notifications/resources/updated") || strings.Count(got, "updated") != 1 {
		t.Errorf("stream: %q", got)
	}
	if got := k.step(message.SubscribeURIResult{Seq: seqOf(k), Error: []byte("{}")}); got != "" || len(k.s.subs.active) > 0 {
		t.Errorf("the server refuses: %q, %v", got, k.s.subs.active)
	}
	if n := k.s.newNote(); !slices.Equal(n.URIs, []string{"file:///unknown"}) {
		t.Errorf("the next note has %q", n.URIs)
	}
	k.step(k.from(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"file:///unknown"}}`))
	if k.s.hasNote() && len(k.s.noting.restore) > 0 {
		t.Error("a resource is restored from which the client has unsubscribed")
	}
}

// A principal's subscriptions are reserved before they are restored.
func TestNoteOfAPrincipal(t *testing.T) {
	k := newGuest(t)
	k.s.id, k.s.noting.sends, k.s.principal.who = clusterID(t, nodeA), true, key("alice", nil)
	k.adopting(viewOf(nodeB, nodeB))
	k.step(askingServer())
	holder := message.PrincipalOf(k.s.principal.who)
	k.step(message.NoteTaken{Note: &cluster.Note{Session: k.s.id, Holder: holder, URIs: []string{"file:///r"}}})
	if n := k.s.newNote(); len(n.URIs) != 1 {
		t.Errorf("the note while it is restored: %+v", n)
	}
	for _, seq := range kernel.SortedKeys(k.s.subs.reserving) {
		if got := k.step(message.ReserveSubscriptionsResult{Seq: seq}); got != "subscribing" {
			t.Errorf("%q", got)
		}
	}
	if len(k.s.subs.active) != 1 || k.s.subs.reserved != 0 {
		t.Errorf("%+v", k.s.subs)
	}
}

// The client of a session that has moved is notified of a listed resource at once. Of a resource that is in no list, it is notified when the
// pool has accepted the subscription: the client may not be permitted to see it any more.
func TestRestoredResourceInNoList(t *testing.T) {
	for uri, listed := range map[string]bool{"file:///r": true, "resource://one/file:///made": false} {
		for _, accepted := range []bool{true, false} {
			k := newGuest(t)
			k.s.id, k.s.noting.sends = clusterID(t, nodeA), true
			k.adopting(viewOf(nodeB, nodeB))
			k.step(askingServerWith("mentioned"))
			k.step(message.NoteTaken{Note: &cluster.Note{Session: k.s.id, Holder: message.PrincipalOf(k.s.principal.who), URIs: []string{uri}}})
			if len(k.s.subs.active) != 1 {
				t.Fatalf("%s: %+v", uri, k.s.subs)
			}
			if got := k.s.subs.waiting == 1; got != listed {
				t.Errorf("%s: notified before the answer: %v", uri, got)
			}
			answer := message.SubscribeURIResult{Seq: seqOf(k)}
			if !accepted {
				answer.Fault = protocol.NoResource(uri)
			}
			k.step(answer)
			if got := k.s.subs.waiting == 1; got != accepted {
				t.Errorf("%s: accepted %v, notified after the answer: %v", uri, accepted, got)
			}
		}
	}
}

// The client of a session whose note is too large must initialize again.
func TestNoteTooLarge(t *testing.T) {
	k := noted(t, nodeA, nodeB)
	for i := range 200 {
		put(&k.s.subs.active, clientsubs.Resource{Server: "one", URI: fmt.Sprint(i)}, &clientsubs.Subscription{Public: strings.Repeat("x", 50) + fmt.Sprint(i)})
	}
	note := k.s.newNote()
	if !note.TooLarge || note.URIs != nil {
		t.Fatalf("%+v", note)
	}
	next := newGuest(t)
	next.s.id, next.s.noting.sends = k.s.id, true
	next.adopting(viewOf(nodeB, nodeB))
	next.step(askingServer())
	next.step(message.NoteTaken{Note: note})
	if got := next.step(next.from(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); got != "404" {
		t.Errorf("ping: %q", got)
	}
	if got := next.step(streamOn("")); got != "stream 404" {
		t.Errorf("stream: %q", got)
	}
}
