package actors

import (
	"maps"
	"slices"
	"strings"
	"time"

	"goblin-actor/actors/clientcalls"
	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// This file writes the audit records of operators' actions, logins, changed keys and refused requests. Sessions and stateless
// sessions record calls.

// RecordAct records an operator's action. err is why it failed; nil = it has succeeded. server and item may be "".
func (g *Gateway) RecordAct(method, server, item string, err error) {
	g.audit.Record(withOutcome(audit.Record{Event: audit.EventAdmin, Who: identity.LocalID, Via: identity.ViaLocal, Method: method, Server: server, Item: item}, err))
}

// recordLogin records the result of a login at a server or of a logout.
func (g *Gateway) recordLogin(event string, who *identity.Principal, server string, err error) {
	who = identity.Of(who)
	g.audit.Record(withOutcome(audit.Record{Event: event, Who: who.ID, Via: who.Via, Server: server}, err))
}

// recordUnawaited records the result of a login that ended while no caller waited for it. The parameter who is a principal's
// holder.
func (g *Gateway) recordUnawaited(who, server string, err error) {
	r := audit.Record{Event: audit.EventLogin, Who: identity.IDIn(who), Server: server}
	if kind, _, is := strings.Cut(r.Who, ":"); is {
		r.Via = kind
	}
	g.audit.Record(withOutcome(r, err))
}

// withOutcome returns r with the outcome for err.
func withOutcome(r audit.Record, err error) audit.Record {
	if r.Outcome = "ok"; err != nil {
		r.Outcome, r.Detail = "failed", err.Error()
	}
	return r
}

// recordPrincipals records keys that were added, changed or revoked, or that have expired. It skips keys whose rights changed
// with the policy: the record of the reload covers them.
func (g *Gateway) recordPrincipals(how string, changed map[string]*identity.Principal) {
	before := g.entrance.Load().Newest
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		who := changed[id]
		was := before[identity.HolderOf(who)]
		if id == identity.LocalID || who != nil && was != nil && identity.Alike(was, who) {
			continue
		}
		r := audit.Record{Event: audit.EventKey, Who: id, Outcome: how}
		if who == nil {
			r.Outcome = "revoked"
		} else {
			r.Via, r.Detail = who.Via, who.Rights
		}
		g.audit.Record(r)
	}
}

// recordRefusal records a request that was not admitted.
func (g *Gateway) recordRefusal(o *downstream.Origin, what string, refusal *message.Refusal) {
	who := identity.Of(o.Principal)
	g.metrics.Deny(time.Now(), refusalOf(o, what, refusal))
	g.audit.Record(audit.Record{
		Event: audit.EventDenied, Who: who.ID, Via: who.Via, Peer: downstream.HostOf(o.Remote), Method: what, Decision: audit.Deny,
		Outcome: string(refusal.Fault.Name), Detail: refusal.Fault.Message,
	})
}

// recordStranger records that a principal tried to use another principal's session, which does not run here.
func (g *Gateway) recordStranger(o *downstream.Origin, what string) {
	who := identity.Of(o.Principal)
	g.metrics.Deny(time.Now(), session.StrangerRefusal(o, what))
	g.audit.Record(clientcalls.StrangerRecord(who, o, what))
}

// refusalOf describes a request that was not admitted, for operators.
func refusalOf(o *downstream.Origin, what string, refusal *message.Refusal) status.Refusal {
	if o.Path != "" {
		what += " " + o.Path
	}
	why := refusal.Fault.Message
	if refusal.Fault.Name == protocol.UnknownProject { // its message names the project
		if why = "unknown project, or one that the client may not use"; o.Project != "" {
			what += " in project " + o.Project
		}
	}
	return status.Refusal{Who: o.Principal, From: downstream.HostOf(o.Remote), What: what, Why: why}
}
