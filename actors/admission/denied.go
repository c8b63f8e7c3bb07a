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

// Denied describes a request for an item that exists, but that no role of the principal permits. The client gets the same
// answer as for an item that does not exist.
type Denied struct {
	Server string
	Item   string // the server's own name or URI
	Method protocol.Method
	Report bool // the policy only reports: the request was executed

	Who *identity.Principal // as known to the holder of the request
	Key catalog.Key         // what Who sees
}

// deniedIn returns what the policy has to do with a request that was found in the view, or not (fault); nil = nothing. For a
// permitted request this costs reading one field.
func deniedIn(view *catalog.View, x *downstream.Exchange, found Target, fault *protocol.Fault) *Denied {
	if fault == nil {
		reported := view.Reported()
		if reported == nil {
			return nil
		}
		if _, fault := Resolve(reported, x); fault == nil || found.Server == nil {
			return nil
		}
		return &Denied{Server: found.Server.Name, Item: found.Original, Method: x.Frame.Method, Report: true}
	}
	beyond := view.Beyond()
	if beyond == nil {
		return nil
	}
	there, fault := Resolve(beyond, x)
	if fault != nil || there.Server == nil {
		return nil
	}
	return &Denied{Server: there.Server.Name, Item: there.Original, Method: x.Frame.Method}
}

// DeniedIn returns what the policy has to do with a resource that was looked up in the view, and found or not (fault); nil =
// nothing.
func DeniedIn(view *catalog.View, x *downstream.Exchange, found catalog.Found, fault *protocol.Fault) *Denied {
	return deniedIn(view, x, Target{Server: found.Server, Original: found.Original}, fault)
}

// CountDenied counts and logs what was denied; nil = nothing was.
func CountDenied(d *Denied, who *identity.Principal, key catalog.Key, out []kernel.Effect) []kernel.Effect {
	if d == nil {
		return out
	}
	d.Who, d.Key = who, key
	return append(out, kernel.Act(*d))
}

// Count adds it to the metrics, and logs it unless too many lines were logged in this second.
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
