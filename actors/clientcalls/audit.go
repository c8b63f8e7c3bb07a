package clientcalls

import (
	"goblin-actor/actors/admission"
	"goblin-actor/actors/call"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/reply"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Audited is a record for the audit log. Under sync "each", the replies that belong to it are sent only after the record is on disk.
type Audited struct {
	Record  *audit.Record
	Replies []any // effects; nil = no reply waits for the record
}

// auditWritten tells the holder that the replies to one request, which waited for the audit log, have been sent.
type auditWritten struct{}

// Class returns Outcome, because a draining holder waits for this message.
func (auditWritten) Class() kernel.Class { return kernel.Outcome }

// Commit hands the record to the log. The parameter session is the holder's name in the record. The function perform sends
// one of the replies that wait for the record. It runs on any goroutine, even after the holder has ended. The parameter me
// is the holder, which Commit notifies after the last reply.
func (a Audited) Commit(log *audit.Log, session string, me kernel.Reference, perform func(act any)) {
	a.Record.Session = session
	if a.Replies == nil {
		log.Record(*a.Record)
		return
	}
	log.Commit(*a.Record, func() {
		for _, act := range a.Replies {
			perform(act)
		}
		me.Tell(auditWritten{})
	})
}

// SetAudit sets what the audit log requires from now on.
func (c *Calls[H, K, R]) SetAudit(flags audit.Flags) { c.auditing = flags }

// Unaudited returns the error for a new call if a required audit log cannot be written, else nil.
func (c *Calls[H, K, R]) Unaudited() *protocol.Fault {
	if !c.auditing.Has(audit.Refusing) {
		return nil
	}
	return &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "the audit log cannot be written, and calls are refused without it (audit.required)"}
}

// countUnsent counts the last effect if it is a record whose replies wait for the log.
func (c *Calls[H, K, R]) countUnsent(out []kernel.Effect) []kernel.Effect {
	if !c.auditing.Has(audit.Each) || len(out) == 0 {
		return out
	}
	if a, ok := out[len(out)-1].Act.(Audited); ok && a.Replies != nil {
		c.unsent++
	}
	return out
}

// auditEnd records how a call has ended. The effects from index first on are those of its end, including the reply.
// fault is the gateway's error, or nil if the server answered.
func (c *Calls[H, K, R]) auditEnd(b *Held, fault *protocol.Fault, first int, out []kernel.Effect) []kernel.Effect {
	return c.countUnsent(auditEnd(c.auditing, b.record, fault, first, out))
}

// AuditRefused records a request that did not become a call. The effects from index first on are its answer. The parameter
// denied says what the policy denied; nil = nothing.
func (c *Calls[H, K, R]) AuditRefused(x *downstream.Exchange, project string, fault *protocol.Fault, denied *admission.Denied, first int, out []kernel.Effect) []kernel.Effect {
	return c.countUnsent(auditRefused(c.auditing, x, project, fault, denied, first, out))
}

// The values of Record.Rule if the decision does not come from a single policy rule.
const (
	ruleNone   = "no role permits it"
	ruleReport = "no role permits it; the policy only reports"
	ruleOwner  = "the session belongs to another principal"
)

// recordOfCall returns the audit record of a call, or nil if there is no audit log.
func recordOfCall(log audit.Flags, x *downstream.Exchange, c *call.Call, project string, denied *admission.Denied) *audit.Record {
	if !log.Has(audit.On) || x.Origin.Principal.Behalf() != nil { // the other node records its client's call
		return nil
	}
	r := recordOf(x, project)
	r.Server, r.Item = c.Server, c.Item
	if denied != nil {
		r.Rule = ruleReport
	}
	return r
}

func recordOf(x *downstream.Exchange, project string) *audit.Record {
	who := identity.Of(x.Origin.Principal)
	return &audit.Record{
		Event: audit.EventCall, Who: who.ID, Via: who.Via, Peer: downstream.HostOf(x.Origin.Remote), Project: project, Method: x.Frame.MethodText(),
		Decision: audit.Allow, In: len(x.Frame.Raw), Arguments: x.Params.Arguments.Of(x.Frame.Raw),
	}
}

// auditBegin records that a call begins. The parameter call is its name in the log.
func auditBegin(r *audit.Record, call string, out []kernel.Effect) []kernel.Effect {
	r.Call = call
	begin := *r
	begin.Event = audit.EventBegin
	return append(out, kernel.Act(Audited{Record: &begin}))
}

// auditEnd completes and records r, the record of a call that has ended. The effects from index first on are those of its end.
// fault is the gateway's error, if any.
func auditEnd(log audit.Flags, r *audit.Record, fault *protocol.Fault, first int, out []kernel.Effect) []kernel.Effect {
	if r == nil {
		return out
	}
	for _, e := range out[first:] {
		if counted, ok := e.Act.(*CallOutcome); ok {
			r.Outcome, r.Took = counted.ended.Outcome.String(), counted.ended.Took
			r.Time = counted.ended.Began.Add(r.Took)
		}
	}
	judge(r, fault)
	return audited(log, r, first, out)
}

// auditRefused records a request that did not become a call. The parameter denied says what the policy denied; nil =
// nothing. The effects from index first on are its answer. While a required log cannot be written, the answer does not wait
// for it, even under sync "each": nothing was executed, and the client should learn at once that it may retry later.
func auditRefused(log audit.Flags, x *downstream.Exchange, project string, fault *protocol.Fault, denied *admission.Denied, first int, out []kernel.Effect) []kernel.Effect {
	if !log.Has(audit.On) || x.Origin.Principal.Behalf() != nil {
		return out
	}
	r := recordOf(x, project)
	if name, ok := rawjson.Unquote(nameIn(x).Of(x.Frame.Raw)); ok {
		r.Item = name
	}
	r.Server = fault.Server
	judge(r, fault)
	if x.Frame.Method.Owner() == protocol.OwnerTasks && fault.Name == protocol.InvalidParams { // unknown, or another principal's
		r.Decision = audit.Deny
	}
	if denied != nil && !denied.Report { // the client is only told that the item does not exist
		r.Decision, r.Outcome, r.Rule, r.Server, r.Item = audit.Deny, string(protocol.PolicyDenied), ruleNone, denied.Server, denied.Item
	}
	if log.Has(audit.Refusing) {
		log &^= audit.Each
	}
	return audited(log, r, first, out)
}

// AuditStranger records that a principal tried to use another principal's session. For that principal the session does
// not exist.
func (c *Calls[H, K, R]) AuditStranger(who *identity.Principal, o *downstream.Origin, what string, out []kernel.Effect) []kernel.Effect {
	if !c.auditing.Has(audit.On) {
		return out
	}
	r := StrangerRecord(who, o, what)
	return append(out, kernel.Act(Audited{Record: &r}))
}

// StrangerRecord returns the record of AuditStranger.
func StrangerRecord(who *identity.Principal, o *downstream.Origin, what string) audit.Record {
	who = identity.Of(who)
	return audit.Record{
		Event: audit.EventDenied, Who: who.ID, Via: who.Via, Peer: downstream.HostOf(o.Remote), Method: what, Decision: audit.Deny, Rule: ruleOwner,
		Outcome: "SESSION_OF_ANOTHER",
	}
}

// judge sets the outcome of a gateway error, and the decision if the error means that the client lacks a right.
func judge(r *audit.Record, fault *protocol.Fault) {
	if fault == nil {
		return
	}
	r.Outcome = string(fault.Name)
	switch fault.Name {
	case protocol.PolicyDenied, protocol.InsufficientScope, protocol.RateLimited, protocol.RequestStateInvalid,
		protocol.ToolNotFound, protocol.PromptNotFound, protocol.ResourceNotFound, protocol.UnknownProject: // may exist for others
		r.Decision = audit.Deny
	}
}

// audited appends the effect that records r. Under sync "each" it moves the replies among the effects from index
// first on into that effect.
func audited(log audit.Flags, r *audit.Record, first int, out []kernel.Effect) []kernel.Effect {
	var replies []any
	rest := out[:first]
	for _, e := range out[first:] {
		size, ends := reply.Size(e.Act)
		r.Out = max(r.Out, size)
		if ends && log.Has(audit.Each) {
			replies = append(replies, e.Act)
			continue
		}
		rest = append(rest, e)
	}
	clear(out[len(rest):])
	return append(rest, kernel.Act(Audited{r, replies}))
}

// nameIn returns where a request names its item.
func nameIn(x *downstream.Exchange) rawjson.Span {
	for _, span := range []rawjson.Span{x.Params.Name, x.Params.URI, x.Params.RefName, x.Params.RefURI, x.Params.TaskID} {
		if span.Present() {
			return span
		}
	}
	return rawjson.Span{}
}
