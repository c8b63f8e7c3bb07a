package monitor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
)

// Logins queries the token actors of a system and returns the logins, except those that no request has needed yet. It
// blocks on the caller's goroutine until all actors have answered or ctx ends, for at most surveyTime. It leaves out
// actors that have not answered.
func Logins(ctx context.Context, system *kernel.System) []status.Login {
	infos := system.Actors()
	reports := make(chan any, len(infos))
	asked := 0
	for _, info := range infos {
		if info.Kind != "token" {
			continue
		}
		if ref, ok := system.Lookup(info.Name); ok {
			asked++
			ref.Tell(message.Inspect{Reply: func(part any) { reports <- part }})
		}
	}
	timeout := time.NewTimer(surveyTime)
	defer timeout.Stop()
	var all []message.LoginReport
	for range asked {
		select {
		case part := <-reports:
			if r, is := part.(message.LoginReport); is {
				all = append(all, r)
			}
		case <-timeout.C:
			return loginsOf(all)
		case <-ctx.Done():
			return loginsOf(all)
		}
	}
	return loginsOf(all)
}

// loginsOf returns the reported logins, except those that no request has needed. Logins that need a person come first,
// then those whose last renewal failed.
func loginsOf(reports []message.LoginReport) []status.Login {
	all := []status.Login{} // an empty list in JSON is [], not null
	for _, r := range reports {
		if r.Phase == phaseNone {
			continue
		}
		l := status.Login{Server: r.Login.Entry, Whose: ownerOf(r.Login.Lane), State: r.Phase, Issuer: r.Issuer, Reason: r.Fault,
			Expires: r.Expires, Renewed: r.Renewed}
		if l.State == phaseNeeded {
			l.Reason = reasonOf(r)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b status.Login) int {
		return cmp.Or(cmp.Compare(urgency(a.State), urgency(b.State)), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Whose, b.Whose))
	})
	return all
}

// ownerOf returns the name of a login's owner, or "" for a shared login. For a key it is the key's name. The key
// "local" is shown as "key:local", because "local" is the principal of the admin socket.
func ownerOf(lane string) string {
	id := identity.IDIn(lane)
	if name, is := strings.CutPrefix(id, identity.ViaKey+":"); is && name != identity.LocalID {
		return name
	}
	return id
}

// Values of LoginReport.Phase.
const (
	phaseNone   = "none" // no request has needed the login
	phaseNeeded = "needs-login"
	phaseStale  = "stale"
)

// reasonOf returns why a login is needed.
func reasonOf(r message.LoginReport) string {
	switch {
	case r.Pending > 0:
		return "a login has begun and is not finished"
	case r.Fault != "":
		return r.Fault
	}
	return "no one has logged in"
}

func urgency(state string) int {
	switch state {
	case phaseNeeded:
		return 0
	case phaseStale:
		return 1
	}
	return 2
}
