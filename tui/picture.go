package tui

import (
	"time"

	"goblin-actor/internal/status"
)

// Picture is the gateway's state at one moment, as far as the console knows it. It is immutable.
type Picture struct {
	*status.Snapshot               // never nil; empty before the first response
	Items            *status.Items // never nil
	Events           []status.Event
	Metrics          string // fetched only while the metrics view is visible
	past
	access
	listed *listings   // of Items; nil = they are made when needed
	calls  *calledRows // with Usage; nil = they are made when needed
	Window int         // index in windows of the time over which rates are computed

	samples  []sample // of Metrics, oldest first
	messages messages // counts of the messages that the actors handle

	Lost  error     // why the gateway does not respond, or nil; if set, the other fields are from its last response
	Since time.Time // when it stopped responding
}

// noPicture returns the Picture before the gateway's first response.
func noPicture() *Picture {
	return &Picture{Snapshot: &status.Snapshot{}, Items: &status.Items{}}
}

// clientName returns a client's name. If clients are authenticated, the principal precedes it.
func clientName(who, client string) string {
	switch {
	case who == "":
		return client
	case client == "":
		return who
	}
	return who + ": " + client
}

// clientNames returns the names of clients by session.
func (p *Picture) clientNames() map[string]string {
	names := make(map[string]string, len(p.Sessions))
	for i := range p.Sessions {
		if s := &p.Sessions[i]; s.Client != "" && names[s.ID] == "" {
			names[s.ID] = s.Client
		}
	}
	return names
}

// client returns the name of the client that owns a session, or "" if the name is unknown.
func (p *Picture) client(session string) string {
	for i := range p.Sessions {
		if p.Sessions[i].ID == session && p.Sessions[i].Client != "" {
			return p.Sessions[i].Client
		}
	}
	return ""
}
