package admission

import (
	"log/slog"
	"time"

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

	public string         // the name or URI that the client used
	from   string         // address of the client
	entry  *catalog.Entry // nil for a URI that is not listed

	Who *identity.Principal // as known to the actor that handles the request
	Key catalog.Key         // selects the view of Who
}

// deniedIn returns what the policy denies of a request, or nil if it denies nothing. The parameters found and fault are the
// result of Resolve in the view. A permitted request costs no more than reading one field.
func deniedIn(view *catalog.View, x *downstream.Exchange, found Target, fault *protocol.Fault) *Denied {
	if fault == nil {
		reported := view.Reported()
		if reported == nil {
			return nil
		}
		if _, fault := Resolve(reported, x); fault == nil || found.Server == nil {
			return nil
		}
		return newDenied(x, &found, true)
	}
	beyond := view.Beyond()
	if beyond == nil {
		return nil
	}
	there, fault := Resolve(beyond, x)
	if fault != nil || there.Server == nil {
		return nil
	}
	return newDenied(x, &there, false)
}

func newDenied(x *downstream.Exchange, t *Target, report bool) *Denied {
	return &Denied{Server: t.Server.Name, Item: t.Original, Method: x.Frame.Method, Report: report, Trace: x.Report.Trace,
		public: t.public(x), from: downstream.HostOf(x.Origin.Remote), entry: t.Entry}
}

// DeniedIn returns what the policy denies of a resource, or nil if it denies nothing. The parameters found and fault are the
// result of its lookup in the view.
func DeniedIn(view *catalog.View, x *downstream.Exchange, found catalog.Found, fault *protocol.Fault) *Denied {
	return deniedIn(view, x, Target{Server: found.Server, Original: found.Original, Span: x.Params.URI, Entry: found.Entry}, fault)
}

// CountDenied appends the effect that counts and logs a denied request; d = nil means that nothing was denied.
func CountDenied(d *Denied, who *identity.Principal, key catalog.Key, out []kernel.Effect) []kernel.Effect {
	if d == nil {
		return out
	}
	d.Who, d.Key = who, key
	return append(out, kernel.Act(*d))
}

// Reasons why a request for an item is refused, for operators.
const (
	whyNoRole = "no role permits it"
	whyReport = "no role would permit it: the policy only reports"
)

// Count adds d to the metrics and logs it. The number of log lines per second is limited.
func (d *Denied) Count(m *status.Metrics, log *slog.Logger) {
	text, why := "denied by policy", whyNoRole
	if d.Report {
		text, why = "policy would deny", whyReport
	}
	m.Deny(time.Now(), status.Refusal{Who: d.Who, From: d.from, What: d.Method.String() + " " + d.public, Why: why, Rule: d.rule, Report: d.Report})
	if m.Server(d.Server).Denied(d.Method, d.Report) {
		log.Info(text, d.Trace.LogArgs("who", status.Printable(identity.IDOf(d.Who), 200), "roles", status.Printable(d.Key.Rights, 200), "project", d.Key.Project,
			"method", d.Method.String(), "server", d.Server, "item", status.Printable(d.Item, 200))...)
	}
}

// rule says which role would permit the item.
func (d *Denied) rule() string {
	switch {
	case d.Key.Policy == nil:
		return ""
	case d.Key.Projects != "":
		return "a role and a project of the key that permit it"
	case d.entry == nil:
		return "a role that permits the URI " + d.public
	}
	item := d.entry.PolicyItem()
	return d.Key.Policy.Advice(d.Key.Rights, d.Key.Project, &item)
}
