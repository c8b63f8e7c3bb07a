package admission

import (
	"log/slog"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/internal/trace"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Denied describes a request for an item that exists, but that no role of the principal permits. The client gets the same
// answer as for an item that does not exist.
type Denied struct {
	Server string
	Item   string // name or URI as the server defines it
	Method protocol.Method
	Report bool           // the policy only reports: the request was executed
	Trace  *trace.Request // nil = the request is not sampled

	Who *identity.Principal // as known to the actor that handles the request
	Key catalog.Key         // selects the view of Who
}

// deniedIn returns what the policy denies of a request, or nil if it denies nothing. found and fault are the result of Resolve in
// view. A permitted request costs no more than reading one field.
func deniedIn(view *catalog.View, x *downstream.Exchange, found Target, fault *protocol.Fault) *Denied {
	if fault == nil {
		reported := view.Reported()
		if reported == nil {
			return nil
		}
		if _, fault := Resolve(reported, x); fault == nil || found.Server == nil {
			return nil
		}
		return &Denied{Server: found.Server.Name, Item: found.Original, Method: x.Frame.Method, Report: true, Trace: x.Report.Trace}
	}
	beyond := view.Beyond()
	if beyond == nil {
		return nil
	}
	there, fault := Resolve(beyond, x)
	if fault != nil || there.Server == nil {
		return nil
	}
	return &Denied{Server: there.Server.Name, Item: there.Original, Method: x.Frame.Method, Trace: x.Report.Trace}
}

// DeniedIn returns what the policy denies of a resource, or nil if it denies nothing. found and fault are the result of its lookup in
// view.
func DeniedIn(view *catalog.View, x *downstream.Exchange, found catalog.Found, fault *protocol.Fault) *Denied {
	return deniedIn(view, x, Target{Server: found.Server, Original: found.Original}, fault)
}

// CountDenied appends the effect that counts and logs a denied request; d = nil means that nothing was denied.
func CountDenied(d *Denied, who *identity.Principal, key catalog.Key, out []kernel.Effect) []kernel.Effect {
	if d == nil {
		return out
	}
	d.Who, d.Key = who, key
	return append(out, kernel.Act(*d))
}

// Count adds d to the metrics and logs it. The number of log lines per second is limited.
func (d *Denied) Count(m *status.Metrics, log *slog.Logger) {
	text := "denied by policy"
	if d.Report {
		text = "policy would deny"
	}
	if m.Server(d.Server).Denied(d.Method, d.Report) {
		log.Info(text, d.Trace.LogArgs("who", status.Printable(identity.IDOf(d.Who), 200), "roles", status.Printable(d.Key.Rights, 200), "project", d.Key.Project,
			"method", d.Method.String(), "server", d.Server, "item", status.Printable(d.Item, 200))...)
	}
}
