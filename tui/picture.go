package tui

import (
	"time"

	"goblin-actor/internal/status"
)

// Picture is the gateway's state at one moment, as far as the console knows it. It is immutable.
type Picture struct {
	*status.Snapshot               // never nil; empty before the first answer
	Items            *status.Items // never nil
	Events           []status.Event
	Metrics          string // fetched only while the metrics view is visible

	Lost  error     // why the gateway does not answer, or nil; the other fields are then from its last answer
	Since time.Time // when it stopped answering
}

// nothing returns the Picture before the gateway's first answer.
func nothing() *Picture {
	return &Picture{Snapshot: &status.Snapshot{}, Items: &status.Items{}}
}

// whose returns a client's name, prefixed by its principal if clients are authenticated.
func whose(who, client string) string {
	switch {
	case who == "":
		return client
	case client == "":
		return who
	}
	return who + ": " + client
}

// client returns the name of the client that owns a session, or "" if it is unknown.
func (p *Picture) client(session string) string {
	for i := range p.Sessions {
		if p.Sessions[i].ID == session && p.Sessions[i].Client != "" {
			return p.Sessions[i].Client
		}
	}
	return ""
}
