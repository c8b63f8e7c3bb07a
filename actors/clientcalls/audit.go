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
)

// Audited is a record for the audit log. Where the log wants it (sync: each), the replies that belong to it are sent only when it is on
// disk.
type Audited struct {
	Record  *audit.Record
	Replies []any // acts; nil = they are sent already
}

// Note hands it to the log. session is the holder of the call as people are shown it; perform sends a reply, and sent is called when all that
// had to wait are sent: both from any goroutine, and also when the holder has ended meanwhile.
func (a Audited) Note(log *audit.Log, session string, perform func(reply any), sent func()) {
	a.Record.Session = session
	if a.Replies == nil {
		log.Record(*a.Record)
		return
	}
	log.Commit(*a.Record, func() {
		for _, reply := range a.Replies {
			perform(reply)
		}
		sent()
	})
}

// Unsent is 1 if the newest effect is a record whose replies wait for the log, else 0: their holder, when it drains, waits until they are sent.
func Unsent(log audit.Flags, out []kernel.Effect) int {
	if !log.Has(audit.Each) || len(out) == 0 {
		return 0
	}
	if a, ok := out[len(out)-1].Act.(Audited); ok && a.Replies != nil {
		return 1
	}
	return 0
}

// What decided, where it was no single rule.
const (
	ruleNone   = "no role permits it"
	ruleReport = "no role permits it; the policy only reports"
	ruleOwner  = "it is another principal's"
)

// RecordOf is what the audit log is told of a call; nil when there is no log.
func RecordOf(log audit.Flags, x *downstream.Exchange, c *call.Call, project string, denied *admission.Denied) *audit.Record {
	if !log.Has(audit.On) {
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
	who := identity.Of(x.Origin.Who)
	return &audit.Record{
		Event: audit.EventCall, Who: who.ID, Via: who.Via, Peer: downstream.HostOf(x.Origin.Remote), Project: project, Method: x.Frame.MethodText(),
		Decision: audit.Allow, In: len(x.Frame.Raw), Arguments: x.Params.Arguments.Of(x.Frame.Raw),
	}
}

// AuditBegin tells the log that a call begins. call names it, as people are shown it.
func AuditBegin(r *audit.Record, call string, out []kernel.Effect) []kernel.Effect {
	r.Call = call
	begin := *r
	begin.Event = audit.EventBegin
	return append(out, kernel.Act(Audited{Record: &begin}))
}

// AuditEnd tells the log how a call has ended, and takes r. The effects from first on are what its end has come to; a fault is ours.
func AuditEnd(log audit.Flags, r *audit.Record, fault *protocol.Fault, first int, out []kernel.Effect) []kernel.Effect {
	if r == nil {
		return out
	}
	for _, e := range out[first:] {
		if counted, ok := e.Act.(CallOutcome); ok {
			r.Outcome, r.Took = counted.ended.Outcome.String(), counted.ended.Took
			r.Time = counted.ended.Began.Add(r.Took)
		}
	}
	judge(r, fault)
	return audited(log, r, first, out)
}

// AuditRefused tells the log of a request that never became a call, and of what the policy had to do with that (nil = nothing). The effects from first
// on are its answer. While a required log cannot be written it does not wait for that, under sync each neither: nothing was carried out that could
// go without its record, and whoever is to come back later has to hear of it now.
func AuditRefused(log audit.Flags, x *downstream.Exchange, project string, fault *protocol.Fault, denied *admission.Denied, first int, out []kernel.Effect) []kernel.Effect {
	if !log.Has(audit.On) {
		return out
	}
	r := recordOf(x, project)
	if name, ok := protocol.Unquote(nameIn(x).Of(x.Frame.Raw)); ok {
		r.Item = name
	}
	r.Server = fault.Server
	judge(r, fault)
	if x.Frame.M.Owner() == protocol.OwnerTasks && fault.Name == protocol.InvalidParams { // there is no such task, or it is another's
		r.Decision = audit.Deny
	}
	if denied != nil && !denied.Report { // its client is told that it is not there
		r.Decision, r.Outcome, r.Rule, r.Server, r.Item = audit.Deny, string(protocol.PolicyDenied), ruleNone, denied.Server, denied.Item
	}
	if log.Has(audit.Refusing) {
		log &^= audit.Each
	}
	return audited(log, r, first, out)
}

// AuditStranger tells the log of a principal who wants something of a session that is not theirs; to them it does not exist.
func AuditStranger(log audit.Flags, who *identity.Principal, o *downstream.Origin, what string, out []kernel.Effect) []kernel.Effect {
	if !log.Has(audit.On) {
		return out
	}
	who = identity.Of(who)
	return append(out, kernel.Act(Audited{Record: &audit.Record{
		Event: audit.EventDenied, Who: who.ID, Via: who.Via, Peer: downstream.HostOf(o.Remote), Method: what, Decision: audit.Deny, Rule: ruleOwner,
		Outcome: "SESSION_OF_ANOTHER",
	}}))
}

// judge notes how a fault of ours is called, and whether it means that somebody may not.
func judge(r *audit.Record, fault *protocol.Fault) {
	if fault == nil {
		return
	}
	r.Outcome = string(fault.Name)
	switch fault.Name {
	case protocol.PolicyDenied, protocol.InsufficientScope, protocol.RateLimited, protocol.RequestStateInvalid,
		protocol.ToolNotFound, protocol.PromptNotFound, protocol.ResourceNotFound, protocol.UnknownProject: // or it is there, and not for them
		r.Decision = audit.Deny
	}
}

// audited appends the effect that tells the log. Under sync each it takes the replies out of those from first on.
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

// nameIn is where a request names its item.
func nameIn(x *downstream.Exchange) protocol.Span {
	for _, span := range []protocol.Span{x.Params.Name, x.Params.URI, x.Params.RefName, x.Params.RefURI, x.Params.TaskID} {
		if span.Present() {
			return span
		}
	}
	return protocol.Span{}
}

// Unaudited is why a call may not begin now; nil when it may.
func Unaudited(log audit.Flags) *protocol.Fault {
	if !log.Has(audit.Refusing) {
		return nil
	}
	return &protocol.Fault{Name: protocol.Overloaded, Retryable: true, Message: "the audit log cannot be written, and no call may go without it (audit.required)"}
}
