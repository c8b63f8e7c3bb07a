package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// away returns a session whose client is subscribed to a directory and has no stream open. The function that it returns
// reports a change of a URI.
func away(t *testing.T) (*state, func(uri string)) {
	s := newState(Options{ID: "x", Transport: "http"}, kernel.Reference{})
	server := &catalog.Server{Name: "one"}
	s.catalog.view, _ = catalog.Build(nil, []catalog.Source{{Server: server}}, catalog.Naming{URIStyle: "original"}).View(catalog.Key{})
	s.client.ready, s.client.initialized = true, true
	put(&s.subs.active, clientsubs.Resource{Server: "one", URI: "file:///dir"}, &clientsubs.Subscription{Public: "file:///dir"})
	return s, func(uri string) {
		u, ok := message.UpdatedURI(uri)
		if !ok {
			t.Fatal(uri)
		}
		step(s, time.Now(), message.ResourceUpdated{Server: "one", URI: uri, Frame: u.Frame, Span: u.Span}, nil)
	}
}

// back opens a stream and returns the URIs of the updates that are sent on it.
func back(s *state) (told []string) {
	for _, e := range s.sendWaitingUpdates(s.streamReady(time.Time{}, &downstream.EventStream{}, nil)) {
		if p, ok := e.Act.(push); ok && strings.Contains(string(p.message.Frame), "updated") {
			told = append(told, p.key)
		}
	}
	slices.Sort(told)
	return told
}

// After it opens a stream, the client is notified once of each changed part of its subscribed resource.
func TestPartsThatChangeWhileTheClientIsAway(t *testing.T) {
	s, changes := away(t)
	for _, uri := range []string{"file:///dir/a", "file:///dir/b", "file:///dir/a"} {
		changes(uri)
	}
	if told := back(s); len(told) != 2 || !strings.HasSuffix(told[0], "file:///dir/a") || !strings.HasSuffix(told[1], "file:///dir/b") {
		t.Errorf("updates of %q", told)
	}
	if told := back(s); len(told) != 0 || s.subs.waiting != 0 {
		t.Errorf("updates of %q again, %d are stored", told, s.subs.waiting)
	}
}

// Updates that arrived before the server refused the subscription are forgotten and no longer counted.
func TestUpdatesOfARefusedSubscriptionAreNotCounted(t *testing.T) {
	s, changes := away(t)
	put(&s.subs.pending, 1, subscribing{x: &downstream.Exchange{}, Resource: clientsubs.Resource{Server: "one", URI: "file:///dir"}})
	changes("file:///dir/a")
	step(s, time.Now(), message.SubscribeURIResult{Seq: 1, Fault: protocol.NoResource("file:///dir")}, nil)
	if len(s.subs.active) != 0 || s.subs.waiting != 0 {
		t.Errorf("%d subscriptions, %d updates are stored", len(s.subs.active), s.subs.waiting)
	}
}

// If a server names too many parts, the client is notified that the whole resource has changed.
func TestTooManyPartsChange(t *testing.T) {
	s, changes := away(t)
	for i := range 10 * maxDueOfResource {
		changes(fmt.Sprint("file:///dir/", i))
		if n := len(s.subs.active[clientsubs.Resource{Server: "one", URI: "file:///dir"}].Due); n > maxDueOfResource || n != s.subs.waiting {
			t.Fatalf("%d updates are stored, counted as %d", n, s.subs.waiting)
		}
	}
	if told := back(s); !slices.Contains(told, "file:///dir") {
		t.Errorf("updates of %q", told)
	}
}
