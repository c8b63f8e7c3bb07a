package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// newAskingGuest returns a guest that has asked its home.
func newAskingGuest(t *testing.T) *conversation {
	t.Helper()
	k := newGuest(t)
	if got := k.step(kernel.Started{}); got != "asks home" {
		t.Fatalf("at its start: %q", got)
	}
	return k
}

// newHome returns a session of a cluster at its home.
func newHome(t *testing.T) *conversation {
	t.Helper()
	k := newConversation(t, "http")
	k.s.cluster = "abcdefg2"
	k.step(askingServer())
	k.step(k.from(hello))
	return k
}

const (
	pingOf     = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	cancelOf   = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
	setLevelOf = `{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":%q}}`
)

// A guest serves its first requests when the home has said that the session lives, or has not answered. If the session has
// ended, the guest says so and ends.
func TestGuestAsksHome(t *testing.T) {
	for _, c := range []struct {
		answer any
		want   string
	}{
		{HomeAnswer{Life: cluster.SessionLives}, "result, result"},
		{HomeAnswer{Life: cluster.SessionLives, Level: protocol.LevelError}, "level error, level error, then result, result"},
		{HomeAnswer{}, "result, result"},
		{kernel.GoPanicked{}, "result, result"},
		{HomeAnswer{Life: cluster.SessionEnded}, "ended, ended, leaves"},
	} {
		k := newAskingGuest(t)
		if got := k.step(k.from(pingOf, 1)) + k.step(askingServer()) + k.step(k.from(pingOf, 2)); got != "" {
			t.Errorf("before the answer: %q", got)
		}
		got := k.step(c.answer)
		if k.s.guest.leveling != 0 {
			got += ", then " + k.step(message.SetSessionLevelResult{Seq: k.s.guest.leveling})
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.answer, got, c.want)
		}
	}
	k := newAskingGuest(t)
	k.step(k.from(pingOf, 1))
	if got := k.step(HomeAnswer{Life: cluster.SessionLives}) + k.step(askingServer()); got != "result" {
		t.Errorf("the catalog arrives last: %q", got)
	}
}

// A guest asks again once in its idle limit if it was used since or has calls. Nothing waits for these answers.
func TestGuestAsksAgain(t *testing.T) {
	k := newAskingGuest(t)
	k.step(askingServer())
	k.step(HomeAnswer{Life: cluster.SessionLives})
	k.s.guest.asked = time.Unix(990, 0)
	check := func(at int64) (asks bool) {
		for _, e := range step(k.s, time.Unix(at, 0), idleCheck{}, nil) {
			_, ask := e.Act.(askHome)
			asks = asks || ask
		}
		return asks
	}
	k.s.life.lastSeen = time.Unix(990, 0)
	if check(1000) {
		t.Error("it asked although it was not used")
	}
	k.s.life.lastSeen = time.Unix(1000, 0)
	if !check(1010) || check(1011) {
		t.Error("it did not ask once after it was used")
	}
	if got := k.step(k.from(pingOf, 1)); got != "result" {
		t.Errorf("a request while it asks again: %q", got)
	}
	k.step(HomeAnswer{Life: cluster.SessionLives})
	k.step(k.from(callOf, 3, "ask"))
	k.s.life.lastSeen = time.Unix(1005, 0)
	if !check(2000) {
		t.Error("it did not ask although it has a call")
	}
	if got := k.step(HomeAnswer{Life: cluster.SessionEnded}); got != "leaves" {
		t.Errorf("the session has ended: %q", got)
	}
	if got := k.step(kernel.Stopping{}); !strings.Contains(got, "SHUTTING_DOWN") {
		t.Errorf("its call: %q", got)
	}
}

// The home answers guests of its holder, and is then not idle. It does not tell others that the session lives.
func TestHomeAnswersGuests(t *testing.T) {
	k := newHome(t)
	k.step(k.from(setLevelOf, "error"))
	k.s.life.lastSeen = time.Unix(1, 0)
	if got := k.step(message.GuestAsks{Holder: "key:thief"}); got != `answers "ended" ` || k.s.life.lastSeen != time.Unix(1, 0) {
		t.Errorf("another holder: %s, last seen %v", got, k.s.life.lastSeen)
	}
	if got := k.step(message.GuestAsks{}); got != `answers "lives" error` || k.s.life.lastSeen != time.Unix(1000, 0) {
		t.Errorf("%s, last seen %v", got, k.s.life.lastSeen)
	}
	if got := newAskingGuest(t).step(message.GuestAsks{}); got != `answers "" ` {
		t.Errorf("a guest: %s", got)
	}
}

// The home tells the other nodes about the events of its session, but not that it ends because its node stops.
func TestHomeTellsNodes(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{fmt.Sprintf(setLevelOf, "error"), "tells level error, level error"},
		{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "accepted, tells roots "},
		{fmt.Sprintf(cancelOf, "77"), "accepted, tells cancel 77"},
		{fmt.Sprintf(cancelOf, `"x"`), `accepted, tells cancel "x"`},
		{fmt.Sprintf(cancelOf, "5"), "cancelled, CANCELLED"},
	} {
		k := newHome(t)
		k.step(k.from(callOf, 5, "ask"))
		if got := k.step(k.from("%s", c.message)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.message, got, c.want)
		}
	}
	if got := newHome(t).step(kernel.Stopping{}); got != "tells ended " {
		t.Errorf("at its end: %q", got)
	}
	k := newHome(t)
	k.step(message.DrainSession{})
	if got := k.step(kernel.Stopping{}); got != "" {
		t.Errorf("when its node stops: %q", got)
	}
}

// A hint has an effect only if it comes from the session's holder. Only guests believe that the session has ended.
func TestHints(t *testing.T) {
	cancel := message.SessionHint{Kind: cluster.HintCancel, Request: json.RawMessage("5")}
	ended := message.SessionHint{Kind: cluster.HintEnded}
	level := message.SessionHint{Kind: cluster.HintLevel, Level: protocol.LevelError}
	roots := message.SessionHint{Kind: cluster.HintRoots}
	begin := map[string]func(t *testing.T) *conversation{
		"home": newHome,
		"guest": func(t *testing.T) *conversation {
			k := newAskingGuest(t)
			k.step(askingServer())
			k.step(HomeAnswer{Life: cluster.SessionLives})
			return k
		},
	}
	for _, c := range []struct {
		hint        message.SessionHint
		home, guest string
	}{
		{cancel, "cancelled, CANCELLED", "cancelled, CANCELLED"},
		{message.SessionHint{Kind: cluster.HintCancel, Request: json.RawMessage("6")}, "", ""},
		{message.SessionHint{Kind: cluster.HintCancel}, "", ""},
		{ended, "", "leaves"},
		{level, "", "level error"},
		{message.SessionHint{Kind: cluster.HintLevel}, "", ""},
		{roots, "", "roots"},
		{message.SessionHint{Kind: "other"}, "", ""},
	} {
		for name, want := range map[string]string{"home": c.home, "guest": c.guest} {
			k := begin[name](t)
			k.step(k.from(callOf, 5, "ask"))
			put(&k.s.questions.rootsPools, "one", kernel.Reference{})
			foreign := c.hint
			foreign.Holder = "key:other"
			if got := k.step(foreign); got != "" {
				t.Errorf("%s, %+v: %q", name, foreign, got)
			}
			if got := k.step(c.hint); got != want && !(name == "home" && c.hint.Kind == cluster.HintRoots) {
				t.Errorf("%s, %+v: %q, want %q", name, c.hint, got, want)
			}
		}
	}
}

// A call that still waits for the guest's beginning can be canceled, too.
func TestCancelWaitingCall(t *testing.T) {
	k := newAskingGuest(t)
	k.step(askingServer())
	k.step(k.from(pingOf, 1))
	k.step(k.from(callOf, 5, "ask"))
	for _, id := range []string{"1", "5", "5"} {
		want := map[string]string{"5": "CANCELLED"}[id]
		if id == "5" && len(k.s.guest.waiting) == 1 {
			want = ""
		}
		if got := k.step(message.SessionHint{Kind: cluster.HintCancel, Request: json.RawMessage(id)}); got != want {
			t.Errorf("cancel %s: %q, want %q", id, got, want)
		}
	}
	if got := k.step(HomeAnswer{}); got != "result" {
		t.Errorf("at its beginning: %q", got)
	}
}

// A level in a hint is newer than that in the answer to an earlier question.
func TestLevelsOfGuest(t *testing.T) {
	k := newAskingGuest(t)
	k.step(askingServer())
	if got := k.step(message.SessionHint{Kind: cluster.HintLevel, Level: protocol.LevelError}); got != "level error" {
		t.Errorf("%q", got)
	}
	if got := k.step(HomeAnswer{Life: cluster.SessionLives, Level: protocol.LevelInfo}); got != "level error" || k.s.client.level != protocol.LevelError {
		t.Errorf("%q, level %s", got, k.s.client.level)
	}
}

// A guest with messages that wait for its beginning is not idle.
func TestWaitingGuestIsBusy(t *testing.T) {
	k := newAskingGuest(t)
	k.s.limits = config.Default().Limits
	k.step(k.from(pingOf, 1))
	if got := k.step(message.CloseIfIdle{}); got != "" {
		t.Errorf("%q", got)
	}
	k.step(askingServer())
	k.step(HomeAnswer{})
	if got := k.step(message.CloseIfIdle{}); got != "leaves" {
		t.Errorf("%q", got)
	}
}
