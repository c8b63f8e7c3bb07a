package status

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"goblin-actor/internal/identity"
)

// MaxUsers limits Users.Users, because a key file may have thousands of keys.
const MaxUsers = 1000

// Users are the principals that may use the gateway. Where clients are not authenticated, they are one user, local.
type Users struct {
	Total int    `json:"total"` // number of users that match, including those left out of Users
	Users []User `json:"users"` // at most MaxUsers: those with a Reason first, then active ones, then the most recently used
}

// User is a principal and its use of the gateway, counted from the start of the gateway.
type User struct {
	Name     string   `json:"name"`            // of its key; LocalUser if Local is true
	Local    bool     `json:"local,omitempty"` // stands for all clients that are not authenticated; a key may have the same name
	Roles    []string `json:"roles,omitempty"` // nil = there is no policy, or the policy gives it none
	Sessions int      `json:"sessions"`
	Running  int      `json:"running"` // calls in flight
	Streams  int      `json:"streams"` // open streams

	Calls             uint64  `json:"calls"`   // finished calls
	Failed            uint64  `json:"failed"`  // calls of Calls whose outcome is not ok
	Refused           uint64  `json:"refused"` // requests that were refused before they became calls
	RefusedLastMinute int     `json:"refusedLastMinute"`
	CallsPerSecond    float64 `json:"callsPerSecond"` // over the last 10 seconds

	RateLeft int `json:"rateLeft"` // requests that its rate permits at once; -1 = it has no rate
	RateOf   int `json:"rateOf"`   // requests that its rate permits at once after a pause; -1 = it has no rate

	Expires time.Time `json:"expires,omitzero"` // of its key; zero = never
	Last    time.Time `json:"last,omitzero"`    // last call or refusal; zero = none
	Reason  string    `json:"reason,omitempty"` // why its requests are refused; empty = they are not

	RefusedSince time.Time `json:"refusedSince,omitzero"` // since when they have been refused again and again; zero = they have not
}

// Count sets the counts of u.
func (u *User) Count(c identity.UsageCounts) {
	u.Calls, u.Failed, u.Refused, u.CallsPerSecond, u.RefusedLastMinute, u.Last = c.Calls, c.Failed, c.Refused, c.CallsPerSecond, c.RefusedLastMinute, c.Last
	if u.RefusedSince = c.RefusedSince; !u.RefusedSince.IsZero() {
		u.Reason = c.Why
	}
}

// LocalUser is User.Name of clients that are not authenticated.
const LocalUser = identity.LocalID

// Users returns the users whose names contain name; "" = all.
func (l Local) Users(ctx context.Context, name string) (Users, error) {
	s, err := l.Gateway.Status(ctx)
	if err != nil {
		return Users{}, err
	}
	var all []User
	if l.Keys != nil {
		all = l.Keys()
	}
	all = withLocal(all, l.Counters.local.At(time.Now()), s)
	all = slices.DeleteFunc(all, func(u User) bool { return !strings.Contains(u.Name, name) })
	addOpen(all, s)
	slices.SortFunc(all, compareUsers)
	users := Users{Total: len(all), Users: all[:min(len(all), MaxUsers)]}
	return without(users, l.Known), nil
}

// withLocal sets the counts of the user local. It adds that user if all lacks it and it uses the gateway, or if there is no other user.
func withLocal(all []User, counts identity.UsageCounts, s *Snapshot) []User {
	local := slices.IndexFunc(all, func(u User) bool { return u.Local })
	if local < 0 {
		used := !counts.Last.IsZero() || slices.ContainsFunc(s.Sessions, func(s Session) bool { return s.Who == "" }) || slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Who == "" })
		if len(all) > 0 && !used {
			return all
		}
		local, all = len(all), append(all, User{Name: LocalUser, Local: true, RateLeft: -1, RateOf: -1})
	}
	all[local].Count(counts)
	return all
}

// addOpen counts the sessions and running calls of each user, and the streams of the user local.
func addOpen(all []User, s *Snapshot) {
	byName := make(map[string]*User, len(all)) // "" = local, as in Session.Who
	for i := range all {
		if u := &all[i]; u.Local {
			byName[""] = u
		} else {
			byName[u.Name] = u
		}
	}
	for i := range s.Sessions {
		if u := byName[s.Sessions[i].Who]; u != nil {
			u.Sessions++
			if u.Local { // streams of keys are counted with the keys
				u.Streams += s.Sessions[i].Streams
			}
		}
	}
	for i := range s.Calls {
		if u := byName[s.Calls[i].Who]; u != nil {
			u.Running++
		}
	}
}

// compareUsers orders users: those with a Reason first, then those with sessions or running calls, then by last use and by name.
func compareUsers(a, b User) int {
	active := func(u *User) int { return min(1, u.Sessions+u.Running) }
	return cmp.Or(cmp.Compare(min(1, len(b.Reason)), min(1, len(a.Reason))), cmp.Compare(active(&b), active(&a)), b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name))
}
