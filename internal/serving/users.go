package serving

import (
	"strings"
	"time"

	"goblin-actor/internal/audit"
	"goblin-actor/internal/auth"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
)

// Users returns the principals that may use the gateway. It does not count their sessions and running calls, which
// status.Local.Users adds.
func (e *Security) Users() []status.User {
	now := time.Now()
	known := e.gate.Users()
	all := make([]status.User, len(known))
	for i, u := range known {
		all[i] = userOf(u, now)
		all[i].RateLeft, all[i].RateOf = e.rates.Left(now, u.Who)
	}
	return all
}

// userOf returns what is known about a principal except for its rate.
func userOf(u auth.User, now time.Time) status.User {
	shown := status.User{Name: u.Who.Name, Local: u.Who.ID == identity.LocalID, Roles: policy.Roles(u.Who.Rights), Streams: u.Streams, Expires: u.Who.Expires}
	if u.Who.Usage != nil {
		shown.Count(u.Who.Usage.At(now))
	}
	switch {
	case u.Expired:
		shown.Reason = "its key has expired"
	case u.Who.Rights == policy.NoRoles:
		shown.Reason = "it has no role, so it sees nothing"
	}
	return shown
}

// denied stores a denial for operators. It also records the denial in the audit log, unless the request had no credential.
func (e *Security) denied(d auth.Denial) {
	g := e.gateway.Load()
	if g == nil {
		return
	}
	g.Metrics().Deny(time.Now(), status.Refusal{
		Who: d.Principal, Unknown: d.Principal == nil, From: d.From(), What: strings.TrimSpace(d.Method + " " + d.Path), Why: d.Reason,
		Rule: func() string { return e.permits(&d) },
	})
	if d.Probe {
		return
	}
	r := audit.Record{Event: audit.EventDenied, Peer: d.From(), Item: d.Path, Decision: audit.Deny, Outcome: d.Error, Detail: d.Reason}
	if d.Principal != nil {
		r.Who, r.Via = d.Principal.ID, d.Principal.Via
	}
	g.Audit().Record(r)
}

// permits returns what would permit a request that was denied.
func (e *Security) permits(d *auth.Denial) string {
	switch d.Reason {
	case auth.ReasonNoKey:
		return "the header Authorization: Bearer gba_… with a key from goblin-actor key new NAME"
	case auth.ReasonMistyped:
		return "the whole key, as goblin-actor key new printed it"
	case auth.ReasonUnknown:
		return "a key in the key file: goblin-actor key new NAME"
	case auth.ReasonExpired:
		return "a new key: goblin-actor key revoke " + d.Principal.Name + ", then goblin-actor key new " + d.Principal.Name
	case auth.ReasonMalformed:
		return "exactly one header Authorization: Bearer gba_…, and no access_token in the query"
	case auth.ReasonTunnel:
		return "auth.keys and trustedProxies in the configuration"
	case auth.ReasonForwarded:
		return "forwarding headers that agree, from an address in trustedProxies"
	case auth.ReasonConcurrent:
		return "a higher limits.maxInFlightPerPrincipal or, for streams, limits.maxSessions"
	case auth.ReasonRate:
		return "a role with a higher rate than " + e.rates.Of(identity.Of(d.Principal)).String()
	}
	return ""
}
