package message

import (
	"fmt"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

// Inspect requests an actor's part of the status: a status.Server, status.Backend, SessionReport and so on. Reply never
// blocks and is called at most once.
type Inspect struct{ Reply func(part any) }

func (Inspect) Class() kernel.Class { return kernel.Urgent }

// Observation implements kernel.Observation.
func (Inspect) Observation() {}

// Abandon answers nil for an actor that does not handle the request.
func (i Inspect) Abandon(kernel.Reason) { i.Reply(nil) }

// SessionReport is a session's part of the status.
type SessionReport struct {
	Session status.Session
	Calls   []status.Call

	Subscriptions []status.Subscription

	Changing bool // the report may change although the actor handles no message
}

// Abort cancels a call of a session or stateless session with an error, on an operator's request. The answer is
// status.ErrNotThere for an unknown call, and status.ErrRestarted for one that did not begin when Aim says.
type Abort struct {
	Seq   uint64
	Aim   status.Aim
	Reply chan<- error // capacity 1; nil = no answer
}

// Class is Urgent, because a session with a full mailbox may be the reason for the request.
func (Abort) Class() kernel.Class { return kernel.Urgent }

// Abandon answers that the call has ended with its session, or that the session did not handle the request.
func (a Abort) Abandon(why kernel.Reason) { a.Answer(notHandled(why)) }

// Answer sends the answer to the operator.
func (a Abort) Answer(err error) { answer(a.Reply, err) }

// End ends a session with its calls, on an operator's request. The answer is status.ErrRestarted if the session did not
// begin when Aim says.
type End struct {
	Aim   status.Aim
	Reply chan<- error // capacity 1; nil = no answer
}

// Class is Urgent, because the session's mailbox may be full.
func (End) Class() kernel.Class { return kernel.Urgent }

// Abandon answers that the session has ended, or that it did not handle the request.
func (e End) Abandon(why kernel.Reason) { e.Answer(notHandled(why)) }

// Answer sends the answer to the operator.
func (e End) Answer(err error) { answer(e.Reply, err) }

// answer sends err to a channel of capacity 1, if there is one. Only the first answer counts: an actor may panic after its answer.
func answer(reply chan<- error, err error) {
	select {
	case reply <- err:
	default:
	}
}

// notHandled returns the error for an operator's request that an actor has abandoned.
func notHandled(why kernel.Reason) error {
	switch why {
	case kernel.Overloaded, kernel.Panicked:
		return fmt.Errorf("the request was not handled (%s); try again", why)
	}
	return status.ErrNotThere
}

// GetCatalog requests the current catalog from the gateway. The answer is nil if there is none yet.
type GetCatalog struct {
	Reply chan<- *catalog.Snapshot // capacity 1
}

func (GetCatalog) Class() kernel.Class { return kernel.Urgent }

// Observation implements kernel.Observation.
func (GetCatalog) Observation() {}

// Abandon answers nil if the gateway cannot handle the request.
func (g GetCatalog) Abandon(kernel.Reason) { g.Reply <- nil }

// CatalogReport is the gateway's own part of the status, without the parts of its children.
type CatalogReport struct {
	Catalog  status.Catalog
	Projects []status.Project
	Counts   map[string]status.Catalog   // by server
	Invalid  map[string][]status.Invalid // tools with invalid definitions, by server
	Off      map[string][]string         // tools.disabled by server, if not empty
	Settled  map[string]bool             // by server: catalog.Server.Listed in the published catalog
	Listen   []string
	TLS      bool // the listeners use TLS
	Config   string
	Fault    *status.ConfigFault
	Draining bool
	Disabled []status.Server // disabled servers, and members of groups that do not run
	Enabled  []string        // servers that are not disabled
}

// GetStatus requests the status of the whole gateway from the monitor.
type GetStatus struct {
	Reply chan<- *status.Snapshot // capacity 1
}

// Observation implements kernel.Observation.
func (GetStatus) Observation() {}

// Abandon answers nil if the monitor cannot handle the request.
func (g GetStatus) Abandon(kernel.Reason) {
	select {
	case g.Reply <- nil:
	default:
	}
}

// GetSeries requests the time series of the recent past.
type GetSeries struct {
	After int64                  // without intervals that began before this Unix second
	Reply chan<- []status.Series // capacity 1
}

// Observation implements kernel.Observation.
func (GetSeries) Observation() {}

// Abandon answers nil if the request cannot be handled.
func (g GetSeries) Abandon(kernel.Reason) { g.Reply <- nil }
