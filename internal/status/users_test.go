package status

import (
	"context"
	"fmt"
	"testing"
	"time"

	"goblin-actor/internal/identity"
)

// usersOf is a Gateway with some sessions and calls.
type usersOf struct {
	Gateway
	snapshot Snapshot
}

func (u usersOf) Status(context.Context) (*Snapshot, error) { return &u.snapshot, nil }

func (u usersOf) users(t *testing.T, keys func() []User, name string) Users {
	t.Helper()
	got, err := Local{Gateway: u, Counters: NewMetrics(), Keys: keys}.Users(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Without keys, all clients are the user local. With keys, local is listed only if it is used. A key with that name is another user.
func TestLocalUser(t *testing.T) {
	used := usersOf{snapshot: Snapshot{Sessions: []Session{{Streams: 2}, {Who: "ci", Streams: 1}, {Who: "ci"}}, Calls: []Call{{}, {Who: "ci"}, {Who: "gone"}}}}
	keyed := usersOf{snapshot: Snapshot{Sessions: []Session{{Streams: 2}, {Who: "local", Streams: 4}, {Who: "local"}}, Calls: []Call{{}}}}
	keys := func() []User { return []User{{Name: "ci", Streams: 1}} }
	for _, c := range []struct {
		name string
		of   usersOf
		keys func() []User
		want string
	}{
		{"no keys, unused", usersOf{}, nil, "[local 0 0 0]"},
		{"no keys", used, nil, "[local 1 1 2]"},
		{"keys", used, keys, "[ci 2 1 1][local 1 1 2]"},
		{"keys, local unused", usersOf{}, keys, "[ci 0 0 1]"},
		{"a key named local", keyed, func() []User { return []User{{Name: "local", Streams: 4}} }, "[local 2 0 4][local 1 1 2]"},
	} {
		got := ""
		for _, u := range c.of.users(t, c.keys, "").Users {
			got += fmt.Sprint([]any{u.Name, u.Sessions, u.Running, u.Streams})
		}
		if got != c.want {
			t.Errorf("%s: name, sessions, running, streams: %s, want %s", c.name, got, c.want)
		}
	}
}

// Of ten thousand users, those that are refused come first, then active ones, then the most recently used. The rest is counted and can be found by name.
func TestTenThousandUsers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	keys := func() []User {
		all := make([]User, 10_000)
		for i := range all {
			all[i] = User{Name: fmt.Sprint("key", i), Last: now.Add(time.Duration(i) * time.Second)}
		}
		all[17].Count(identity.UsageCounts{Why: "too many requests", RefusedSince: now})
		return all
	}
	of := usersOf{snapshot: Snapshot{Sessions: []Session{{Who: "key9"}}}}
	began := time.Now()
	got := of.users(t, keys, "")
	t.Logf("%v", time.Since(began))
	if got.Total != 10_000 || len(got.Users) != MaxUsers {
		t.Fatalf("%d of %d users", len(got.Users), got.Total)
	}
	if a, b, c := got.Users[0], got.Users[1], got.Users[2]; a.Name != "key17" || a.Reason != "too many requests" || b.Name != "key9" || c.Name != "key9999" {
		t.Errorf("the first users: %+v %+v %+v", a, b, c)
	}
	if got := of.users(t, keys, "key123"); got.Total != 11 || got.Users[10].Name != "key123" {
		t.Errorf("users called key123…: %+v", got)
	}
}
