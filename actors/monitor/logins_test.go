package monitor

import (
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

// Logins that need a person come first, then those whose last renewal failed. Logins that no request has needed are
// left out, and holders are shown without what identifies their keys. The key "local" is not the owner of the admin
// socket.
func TestLoginsOf(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	lane := func(server, holder string) message.LoginKey { return message.LoginKey{Entry: server, Lane: holder} }
	got := loginsOf([]message.LoginReport{
		{Login: lane("unused", ""), Phase: phaseNone},
		{Login: lane("github", ""), Phase: "fresh", Issuer: "https://login.example.com", Expires: at, Renewed: at.Add(-time.Hour)},
		{Login: lane("issues", identity.Held("key:ada", 7)), Phase: phaseStale, Fault: "renew the login: connection refused"},
		{Login: lane("github", "key:bob"), Phase: phaseNeeded, Fault: "invalid_grant"},
		{Login: lane("github", "local"), Phase: phaseNeeded, Fault: "invalid_grant", Pending: 1},
		{Login: lane("github", "key:ada"), Phase: phaseNeeded},
		{Login: lane("github", identity.Held("key:local", 7)), Phase: phaseNeeded},
	})
	want := []status.Login{
		{Server: "github", Whose: "ada", State: phaseNeeded, Reason: "no one has logged in"},
		{Server: "github", Whose: "bob", State: phaseNeeded, Reason: "invalid_grant"},
		{Server: "github", Whose: "key:local", State: phaseNeeded, Reason: "no one has logged in"},
		{Server: "github", Whose: "local", State: phaseNeeded, Reason: "a login has begun and is not finished"},
		{Server: "issues", Whose: "ada", State: phaseStale, Reason: "renew the login: connection refused"},
		{Server: "github", State: "fresh", Issuer: "https://login.example.com", Expires: at, Renewed: at.Add(-time.Hour)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("loginsOf: %+v\nwant %+v", got, want)
	}
}
