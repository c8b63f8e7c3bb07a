package auth

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/downstream"
)

// Settings are the parts of the configuration that decide who may use the gateway.
type Settings struct {
	Keys    string         // path of the key file; "" = no authentication
	Proxies []netip.Prefix // trusted proxies: the gateway believes their forwarding headers

	MaxCalls   int // concurrent requests per principal; 0 = no limit
	MaxStreams int // concurrent streams per principal; 0 = no limit

	// Rights returns the rights of a key, or of unauthenticated clients (local), in the encoding of
	// identity.Principal. If it is nil, all rights are "".
	Rights func(roles []string, key string, local bool) string
	Policy identity.Policy                                // the policy that interprets the rights
	Admin  func(rights string, local bool) identity.Admin // the admin operations that rights permit; nil = none for keys, all for unauthenticated clients
	Rates  Rates                                          // nil = no rate limits
}

// Rates limits the rate of requests. It is safe for concurrent use and does not block.
type Rates interface {
	// Allow counts one request of who. If ok is false, the request exceeds the rate and may be repeated after retryAfter.
	Allow(now time.Time, who *identity.Principal) (retryAfter time.Duration, ok bool)
}

// Denial describes a refused request.
type Denial struct {
	Principal *identity.Principal // nil = unknown
	Peer      netip.Addr          // client address: the one that a trusted proxy reports, else that of the connection; zero = stdin
	Method    string              // HTTP method
	Path      string              // request path, truncated
	Status    int                 // HTTP status of the response
	Error     string              // error name in the response
	Reason    string              // a few words for the log, never the credential: one of the constants below
	Probe     bool                // there was no credential: clients probe like this before they authenticate
}

// Values of Denial.Reason.
const (
	ReasonNoKey      = "no key was sent"
	ReasonUnknown    = "unknown or revoked key"
	ReasonExpired    = "expired key"
	ReasonMistyped   = "malformed API key"
	ReasonMalformed  = "malformed credential"
	ReasonTunnel     = "request came through a proxy or tunnel"
	ReasonForwarded  = "contradictory or malformed proxy headers"
	ReasonRate       = "too many requests"
	ReasonConcurrent = "too many concurrent requests"
)

// From returns the client address for display, or "stdio".
func (d *Denial) From() string {
	if !d.Peer.IsValid() {
		return "stdio"
	}
	return d.Peer.String()
}

// Options are a Gate's hooks into the rest of the gateway.
type Options struct {
	Log *slog.Logger
	// Changed is called with principals that changed, and with nil for each whose key was removed or has expired. Added
	// is called with new principals; if it is nil, Changed is called with them too. Calls do not overlap.
	Changed, Added func(map[string]*identity.Principal)
	// Denied is called for every request that Admit refuses, including those that are only summarized in the log, or not
	// logged. It must not block. nil = not called.
	Denied func(Denial)
	// Lost is called with the holders (identity.Principal) whose keys were removed from the key file while it was in use, and
	// Found with those whose keys were added after it was first read. They must not block, and calls do not overlap. nil = not
	// called.
	Lost, Found func(holders []string)
}

// Gate authenticates requests and enforces the limits of their principals. All methods are safe for concurrent use;
// Configure, Reload and Close exclude each other.
type Gate struct {
	options      Options
	state        atomic.Pointer[state]
	failures     failures
	anonymousUse usage      // usage of unauthenticated clients; only lastLogged is used
	logLimit     logLimiter // limits log lines

	mu      sync.Mutex
	timer   *time.Timer // fires when the next key expires, or after expiryStep; nil = no key will expire
	checked time.Time   // keys that expired up to this time have been reported
	closed  bool
	file    keyFile
	revoked map[string]bool // holders that are not admitted, although the key file has their keys; immutable
}

// state is the snapshot that requests read. It is immutable.
type state struct {
	Settings
	keys      *keySet             // nil = no authentication
	anonymous *identity.Principal // the principal of unauthenticated clients
}

// NewGate returns a gate that requires no authentication until Configure sets a key file.
func NewGate(o Options) *Gate {
	if o.Added == nil {
		o.Added = o.Changed
	}
	g := &Gate{options: o}
	g.failures.summary.log = o.Log
	g.state.Store(&state{anonymous: identity.Local})
	return g
}

// Configure applies new settings. If the key file cannot be read, Configure returns a *FileError. The previous keys
// then stay in force if they come from the same file. Otherwise no key is accepted until the file can be read.
func (g *Gate) Configure(s Settings) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Rights == nil {
		s.Rights = func([]string, string, bool) string { return "" }
	}
	return g.install(s)
}

// Reload reads the key file again. If it cannot be read, the keys do not change and Reload returns a *FileError.
func (g *Gate) Reload() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.state.Load()
	if was.Keys == "" {
		return nil
	}
	return g.install(was.Settings)
}

// install builds and publishes the next state. The caller must hold mu.
func (g *Gate) install(s Settings) error {
	was := g.state.Load()
	next := &state{Settings: s, anonymous: identity.Local}
	if rights := s.rights(nil, "", true); rights != "" {
		who := *identity.Local
		who.Rights, who.Policy = rights, s.Policy
		if s.Admin != nil {
			who.Admin = s.Admin(rights, true)
		}
		next.anonymous = &who
	}
	err := g.read(s.Keys)
	if s.Keys != "" {
		next.keys = newKeySet(g.file.without(g.revoked), &s, was.keys)
	}
	g.publish(was, next)
	return err
}

// publish replaces the state, and reports the principals that differ. The caller must hold mu.
func (g *Gate) publish(was, next *state) {
	gone, changed, come := was.keys.diff(next.keys)
	for _, them := range []map[string]*identity.Principal{changed, come} {
		for id, who := range them {
			if !who.Expires.IsZero() && !time.Now().Before(who.Expires) {
				them[id] = nil
			}
		}
	}
	notify(g.options.Changed, gone) // report all changes before any request uses the new state, so that each admitted principal is known
	notify(g.options.Changed, changed)
	notify(g.options.Added, come)
	g.state.Store(next)
	g.expire()
}

// Known calls f with all principals that have keys, by id, and with a nil entry in expired for each whose key has
// expired. Both maps are empty without authentication. Principals do not change during the call.
func (g *Gate) Known(f func(all, expired map[string]*identity.Principal)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, expired := map[string]*identity.Principal{}, map[string]*identity.Principal{}
	for id, e := range g.state.Load().keys.byID() {
		if all[id] = e.who; !e.who.Expires.IsZero() && !time.Now().Before(e.who.Expires) {
			expired[id] = nil
		}
	}
	f(all, expired)
}

func (s *Settings) rights(roles []string, key string, local bool) string {
	if s.Rights == nil {
		return ""
	}
	return s.Rights(roles, key, local)
}

func notify(who func(map[string]*identity.Principal), news map[string]*identity.Principal) {
	if len(news) > 0 && who != nil {
		who(news)
	}
}

// expiryStep limits the timer's sleep: when a suspended machine resumes, its clock has moved on but its timers have not.
const expiryStep = time.Minute

// expire reports keys that have expired, and schedules itself for the next one. The caller must hold mu.
func (g *Gate) expire() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	keys, now := g.state.Load().keys, time.Now()
	if keys == nil || g.closed {
		return
	}
	expired, next := keys.expiring(g.checked, now)
	g.checked = now
	notify(g.options.Changed, expired)
	if !next.IsZero() {
		g.timer = time.AfterFunc(min(next.Sub(now), expiryStep), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.expire()
		})
	}
}

// Close logs the pending summary of refusals and stops the timers. Admit keeps working.
func (g *Gate) Close() {
	g.failures.closeSummary()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed = true; g.timer != nil {
		g.timer.Stop()
	}
}

// Locked reports whether clients must authenticate.
func (g *Gate) Locked() bool { return g.state.Load().keys != nil }

// ChecksAll reports whether Admit must be called for every request: because clients must authenticate, or because a
// policy limits unauthenticated ones.
func (g *Gate) ChecksAll() bool {
	s := g.state.Load()
	return s.keys != nil || s.anonymous.Rights != ""
}

// Anonymous returns the principal of clients without a credential, or nil if a credential is required. It does not
// apply to requests through a proxy or tunnel.
func (g *Gate) Anonymous() *identity.Principal {
	if s := g.state.Load(); s.keys == nil {
		return s.anonymous
	}
	return nil
}

// Admit authenticates a request and counts it against the limits of its principal, or returns the refusal.
func (g *Gate) Admit(r *downstream.Request) downstream.Admitted {
	s, now := g.state.Load(), time.Now()
	if s.keys == nil {
		if r.Proxied {
			return g.denyNetwork(r, now, Denial{Peer: r.Peer.Addr(), Reason: ReasonTunnel}, refusedTunnel)
		}
		return g.allow(s, r, now, s.anonymous, &g.anonymousUse, netip.Addr{})
	}
	peer, client := r.Peer.Addr(), netip.Addr{}
	if r.Proxied && trusts(s.Proxies, peer) {
		var ok bool
		if client, ok = forwardedFor(r, s.Proxies); !ok {
			return g.denyNetwork(r, now, Denial{Peer: peer, Reason: ReasonForwarded}, refusedForwarded)
		}
		if client.IsValid() {
			peer = client
		}
	}
	token, kind := bearerOf(r)
	switch kind {
	case presentedNothing:
		return g.deny(r, Denial{Peer: peer, Reason: ReasonNoKey, Probe: true}, refusedNoCredential, false)
	case presentedMalformed:
		return g.fail(r, now, Denial{Peer: peer, Reason: ReasonMalformed}, refusedMalformed)
	}
	sum, ok := sumOf(token)
	if !ok {
		return g.fail(r, now, Denial{Peer: peer, Reason: ReasonMistyped}, refusedInvalid)
	}
	e := s.keys.find(&sum)
	switch {
	case e == nil:
		return g.fail(r, now, Denial{Peer: peer, Reason: ReasonUnknown}, refusedInvalid)
	case !e.who.Expires.IsZero() && !now.Before(e.who.Expires):
		return g.fail(r, now, Denial{Principal: e.who, Peer: peer, Reason: ReasonExpired}, refusedExpired)
	}
	return g.allow(s, r, now, e.who, e.use, client)
}

// AdmitBatch counts each further message of a batch as a request, because one HTTP request could otherwise contain a
// thousand messages.
func (g *Gate) AdmitBatch(who *identity.Principal, more int) *downstream.Refusal {
	s, now := g.state.Load(), time.Now()
	if s.Rates == nil {
		return nil
	}
	for range more {
		if after, ok := s.Rates.Allow(now, who); !ok {
			return rateLimited("the batch exceeds the request rate of this principal", after)
		}
	}
	return nil
}

// allow admits a principal unless it exceeds its rate or its number of concurrent requests.
func (g *Gate) allow(s *state, r *downstream.Request, now time.Time, who *identity.Principal, use *usage, client netip.Addr) downstream.Admitted {
	denial := Denial{Principal: who, Peer: client}
	if !client.IsValid() {
		denial.Peer = r.Peer.Addr()
	}
	if s.Rates != nil {
		if after, ok := s.Rates.Allow(now, who); !ok {
			denial.Reason = ReasonRate
			return g.denyUse(r, now, use, denial, rateLimited("this principal exceeded its request rate", after))
		}
	}
	admitted := downstream.Admitted{Principal: who, Client: client}
	if s.keys == nil { // all clients are one principal, so limits per principal do not apply
		return admitted
	}
	if r.Stream {
		if l := lease((*streamLease)(use), &use.streams, s.MaxStreams); l != nil {
			admitted.Lease = l
		}
	} else if l := lease((*callLease)(use), &use.calls, s.MaxCalls); l != nil {
		admitted.Lease = l
	}
	if admitted.Lease == nil {
		denial.Reason = ReasonConcurrent
		return g.denyUse(r, now, use, denial, refusedOverloaded)
	}
	return admitted
}

// fail refuses a credential. A network with too many failures gets HTTP 429 instead.
func (g *Gate) fail(r *downstream.Request, now time.Time, d Denial, why *downstream.Refusal) downstream.Admitted {
	one := g.failures.add(now, d.Peer, g.logLimit.allow)
	if one.tooMany {
		why = rateLimited("too many requests with invalid credentials from this address", one.remaining)
	}
	return g.deny(r, d, why, one.log)
}

// denyNetwork refuses a request and counts it for its network.
func (g *Gate) denyNetwork(r *downstream.Request, now time.Time, d Denial, why *downstream.Refusal) downstream.Admitted {
	return g.deny(r, d, why, g.failures.add(now, d.Peer, g.logLimit.allow).log)
}

// denyUse refuses a request of a known principal. It logs at most one refusal a second for each principal.
func (g *Gate) denyUse(r *downstream.Request, now time.Time, use *usage, d Denial, why *downstream.Refusal) downstream.Admitted {
	return g.deny(r, d, why, use.lastLogged.Swap(now.Unix()) != now.Unix() && g.logLimit.allow(now))
}

// deny refuses a request and reports it to Options.Denied. If log is true, it also logs the refusal.
func (g *Gate) deny(r *downstream.Request, d Denial, why *downstream.Refusal, log bool) downstream.Admitted {
	d.Status, d.Error, d.Method, d.Path = why.Status, string(why.Fault.Name), string(r.Method), status.Cut(string(r.Path), maxPathBytes)
	if g.options.Log != nil && log {
		g.options.Log.Warn("request refused", "who", nameOf(d.Principal), "from", d.From(), "path", d.Path, "status", d.Status, "reason", d.Reason)
	}
	if g.options.Denied != nil {
		g.options.Denied(d)
	}
	return downstream.Admitted{Refusal: why}
}

func nameOf(who *identity.Principal) string {
	if who == nil {
		return "unknown"
	}
	return who.ID
}
