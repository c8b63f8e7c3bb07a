package message

import (
	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
)

// Inspect asks an actor for what it would tell people about itself: a status.Server, status.Backend,
// SessionReport … Reply never blocks and is called at most once.
type Inspect struct{ Reply func(part any) }

func (Inspect) Class() kernel.Class { return kernel.Urgent }

// Glance implements kernel.Glance.
func (Inspect) Glance() {}

// Abandon ends the wait for an actor that has gone.
func (i Inspect) Abandon(kernel.Reason) { i.Reply(nil) }

// SessionReport is a session's answer to Inspect.
type SessionReport struct {
	Session status.Session
	Calls   []status.Call

	Subscriptions []status.Subscription
}

// Abort ends a call of a session or a desk with an error: an operator's wish. A call that is no more is ignored.
type Abort struct{ Seq uint64 }

func (Abort) Class() kernel.Class { return kernel.Urgent }

// GetCatalog asks the gateway for the catalog in force; nil when there is none yet.
type GetCatalog struct {
	Reply chan<- *catalog.Snapshot // capacity 1
}

func (GetCatalog) Class() kernel.Class { return kernel.Urgent }

// Glance implements kernel.Glance.
func (GetCatalog) Glance() {}

// Abandon answers with nothing: the gateway is going.
func (g GetCatalog) Abandon(kernel.Reason) { g.Reply <- nil }

// CatalogReport is the gateway's answer to Inspect: what it knows beside its children.
type CatalogReport struct {
	Catalog  status.Catalog
	Projects []status.Project
	Counts   map[string]status.Catalog   // by server
	Invalid  map[string][]status.Invalid // by server: tools with invalid definitions
	Settled  map[string]bool             // by server: the catalog clients are shown is from when it had settled
	Listen   []string
	Config   string
	Fault    *status.ConfigFault
	Draining bool
	Disabled []status.Server // servers without a pool
	Enabled  []string        // servers that have one, or will in a moment
}

// GetStatus asks the monitor for a picture of everything.
type GetStatus struct {
	Reply chan<- *status.Snapshot // capacity 1
}

// Glance implements kernel.Glance.
func (GetStatus) Glance() {}

// Abandon answers with nothing: the gateway is going.
func (g GetStatus) Abandon(kernel.Reason) {
	select {
	case g.Reply <- nil:
	default:
	}
}
