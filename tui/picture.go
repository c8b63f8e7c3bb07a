package tui

import (
	"time"

	"goblin-actor/internal/status"
)

// Picture is all that is known of the gateway at one moment. Immutable.
type Picture struct {
	*status.Snapshot               // never nil; empty before the first answer
	Items            *status.Items // never nil
	Events           []status.Event
	Metrics          string // asked for only while it is looked at

	Lost  error     // why the gateway does not answer; the rest is then from before. nil = it does
	Since time.Time // since when it does not
}

// nothing is what is known before the first answer.
func nothing() *Picture {
	return &Picture{Snapshot: &status.Snapshot{}, Items: &status.Items{}}
}

// whose is a client with whoever uses it, where clients are asked who they are.
func whose(who, client string) string {
	switch {
	case who == "":
		return client
	case client == "":
		return who
	}
	return who + ": " + client
}

// client names the client behind a session for people.
func (p *Picture) client(session string) string {
	for i := range p.Sessions {
		if p.Sessions[i].ID == session && p.Sessions[i].Client != "" {
			return p.Sessions[i].Client
		}
	}
	return ""
}
