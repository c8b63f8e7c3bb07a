package tui

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/internal/status"
)

func sampleAccess() access {
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	const day = 24 * time.Hour
	return access{
		Users: status.Users{Total: 1204, Users: []status.User{
			{Name: "ci", Roles: []string{"reader"}, Sessions: 12, Running: 2, Streams: 1, Calls: 120_311, Failed: 12, Refused: 812, RefusedLastMinute: 41, CallsPerSecond: 310.4, RateLeft: 0, RateOf: 60,
				Expires: noon.Add(89 * day), Last: ago(100 * time.Millisecond), Reason: "too many requests", RefusedSince: ago(20 * time.Second)},
			{Name: "old-laptop", Roles: []string{"editor", "reader"}, Refused: 3, RateLeft: -1, RateOf: -1, Expires: ago(2 * day), Last: ago(time.Hour), Reason: "its key has expired"},
			{Name: "ada", Roles: []string{"editor"}, Sessions: 1, Calls: 412, CallsPerSecond: 0.4, RateLeft: 57, RateOf: 60, Expires: noon.Add(3 * day), Last: ago(4 * time.Second)},
			{Name: "bob", Roles: []string{"editor"}, RateLeft: 60, RateOf: 60},
		}},
		Logins: []status.Login{
			{Server: "github", Whose: "ada", State: "needs-login", Issuer: "https://login.example.com", Reason: "renew the login: invalid_grant: the refresh token has expired", Renewed: ago(2 * day)},
			{Server: "wiki", State: "needs-login", Reason: "no one has logged in"},
			{Server: "crm", Whose: "ci", State: "stale", Issuer: "https://id.example.org/oauth", Reason: "renew the login: connection refused", Expires: noon.Add(40 * time.Second), Renewed: ago(59 * time.Minute)},
			{Server: "github", Whose: "bob", State: "fresh", Issuer: "https://login.example.com", Expires: noon.Add(41 * time.Minute), Renewed: ago(19 * time.Minute)},
		},
		Nodes: []status.NodeReport{
			{Node: status.Node{Name: "gateway-1", Incarnation: "abcdefg1", Address: "10.0.0.1:8731", Version: "v0.1.0", Self: true, State: status.NodeMember},
				Activity: status.Activity{Started: noon.Add(-3 * time.Hour), Ready: 3, Servers: 5, Sessions: 3, Calls: 4}},
			{Node: status.Node{Name: "gateway-2", Incarnation: "abcdefg2", Address: "10.0.0.2:8731", Version: "v0.1.0", State: status.NodeMember, LastBeat: noon, Warnings: []string{"its configuration differs from that of this node"}},
				Activity: status.Activity{Started: noon.Add(-2 * time.Hour), Ready: 4, Servers: 5, Sessions: 11, Calls: 1}},
			{Node: status.Node{Name: "gateway-3", Incarnation: "abcdefg3", Address: "10.0.0.3:8731", Version: "v0.1.0", State: status.NodeGone, LastBeat: noon.Add(-95 * time.Second)}, Fault: "not a member"},
		},
		Denials: []status.Denial{
			{Number: 44, First: ago(time.Minute), Last: ago(2 * time.Second), Who: "?", From: "198.51.100.7", What: "POST /mcp", Why: "unknown or revoked key", Rule: "a key in the key file: goblin-actor key new NAME", Times: 12},
			{Number: 12, First: ago(time.Hour), Last: ago(4 * time.Second), Who: "ci", From: "10.0.0.4", What: "tools/call notes_delete_note", Why: "no role permits it", Rule: "role editor permits it; role reader does not: readOnly", Times: 3},
			{Number: 2, First: ago(3 * time.Hour), Last: ago(9 * time.Minute), Who: "?", From: "other addresses", What: "other requests", Why: "unknown or revoked key", Rule: "a key in the key file: goblin-actor key new NAME", Times: 9936},
		},
	}
}

// TestAccessScreens compares the views of users, logins, denials and nodes with golden files. The other sizes are in
// TestScreenSizes.
func TestAccessScreens(t *testing.T) {
	for _, c := range []struct{ name, keys string }{
		{"users", ":users<enter>"}, {"users-describe", ":users<enter>d"}, {"logins", ":logins<enter>"}, {"logins-describe", ":logins<enter>d"},
		{"denials", ":denials<enter>"}, {"denials-describe", ":denials<enter><down>d"},
		{"nodes", ":nodes<enter>"}, {"nodes-describe", ":nodes<enter><down>d"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			t.Run(fmt.Sprint(c.name, size), func(t *testing.T) { goldenScreen(t, c.name, c.keys, size, Options{}, samplePicture()) })
		}
	}
}

// In a view without rows, w changes nothing.
func TestWrapNoRows(t *testing.T) {
	s := newTestConsole(t, 80, 24, Options{})
	s.app.take(noPicture())
	s.press(":denials<enter>w")
	s.has("denials[0]")
}

// The view denials shows which clients were refused and why, and which role would permit the request.
func TestWhoIsTurnedAway(t *testing.T) {
	s := newTestConsole(t, 120, 40, Options{})
	s.press(":denials<enter>")
	s.has("198.51.100.7")
	s.has("unknown or revoked key")
	s.press("<down>d")
	s.has("role editor permits it; role reader does not:")
	s.has("goblin-actor policy explain --as ci")
}
