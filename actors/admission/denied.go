package admission

import (
	"log/slog"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// Denied is a request for something that is there, and that no role of whoever asks permits. Its client is told what it is told of what is not
// there.
type Denied struct {
	Server string
	Item   string // as its server calls it
	Method protocol.Method
	Report bool // the policy only reports: the request was let through

	Who *identity.Principal // as the one who holds the request knows
	Key catalog.Key         // what it sees
}

// deniedIn says what of a request that was resolved in the view, or was not (fault), is a matter of policy; nil = nothing. Where the policy permits
// what was asked for that costs a look at a field.
func deniedIn(view *catalog.View, x *downstream.Exchange, found Target, fault *protocol.Fault) *Denied {
	if fault == nil {
		reported := view.Reported()
		if reported == nil {
			return nil
		}
		if _, fault := Resolve(reported, x); fault == nil || found.Server == nil {
			return nil
		}
		return &Denied{Server: found.Server.Name, Item: found.Original, Method: x.Frame.M, Report: true}
	}
	beyond := view.Beyond()
	if beyond == nil {
		return nil
	}
	there, fault := Resolve(beyond, x)
	if fault != nil || there.Server == nil {
		return nil
	}
	return &Denied{Server: there.Server.Name, Item: there.Original, Method: x.Frame.M}
}

// DeniedIn says what of a resource that was looked for in the view, and found or not (fault), is a matter of policy; nil = nothing.
func DeniedIn(view *catalog.View, x *downstream.Exchange, found catalog.Found, fault *protocol.Fault) *Denied {
	return deniedIn(view, x, Target{Server: found.Server, Original: found.Original}, fault)
}

// CountDenied counts what was denied, and has it logged; nil = nothing was.
func CountDenied(d *Denied, who *identity.Principal, key catalog.Key, out []kernel.Effect) []kernel.Effect {
	if d == nil {
		return out
	}
	d.Who, d.Key = who, key
	return append(out, kernel.Act(*d))
}

// Count adds it to the metrics, and logs it unless as many lines a second have been logged as may be.
func (d *Denied) Count(m *status.Metrics, log *slog.Logger) {
	text := "denied by policy"
	if d.Report {
		text = "policy would deny"
	}
	if m.Server(d.Server).Denied(d.Method, d.Report) {
		log.Info(text, "who", status.Printable(identity.IDOf(d.Who), 200), "roles", status.Printable(d.Key.Rights, 200), "project", d.Key.Project,
			"method", d.Method.String(), "server", d.Server, "item", status.Printable(d.Item, 200))
	}
}
