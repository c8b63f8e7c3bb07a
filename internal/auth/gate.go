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

// Settings are what the configuration says about who may use the gateway.
type Settings struct {
	Keys    string         // path of the key file; "" = nobody is asked
	Proxies []netip.Prefix // trusted ones: they are believed for whom they ask

	MaxCalls   int // requests that one principal may have under way; 0 = no limit
	MaxStreams int // streams, likewise

	// Rights are those of a key, or of who is not asked (local), in the writing of identity.Principal. nil = "" for everybody.
	Rights func(roles []string, key string, local bool) string
	Policy identity.Policy                                // what says so
	Admin  func(rights string, local bool) identity.Admin // what those rights permit of what operators do; nil = nothing, but who is not asked may all
	Rates  Rates                                          // nil = none
}

// Rates say how often somebody may ask. Safe from any goroutine; it does not block.
type Rates interface {
	Allow(now time.Time, who *identity.Principal) (retryAfter time.Duration, ok bool)
}

// Denial is a request that was refused for who sends it.
type Denial struct {
	Who    *identity.Principal // nil = it is not known
	Peer   netip.Addr          // for whom a trusted proxy asks, or who is connected; the zero value = who is on stdin
	Path   string
	Status int
	Error  string // name of the error that it is answered with
	Reason string // for the log: a word or two, never the credential
}

// From is where it came from, for people.
func (d *Denial) From() string {
	if !d.Peer.IsValid() {
		return "stdio"
	}
	return d.Peer.String()
}

// Options are what a Gate tells the rest of the gateway.
type Options struct {
	Log *slog.Logger
	// Changed is told of principals whose rights are others now, and with nil of those that are nobody any more; Came of those that have come,
	// nil = Changed is told of them too. Calls do not overlap.
	Changed, Came func(map[string]*identity.Principal)
	// Denied is told of all denials, also those that the log hears of in sums. It must not block. nil = not asked for.
	Denied func(Denial)
}

// Gate decides who is let in. Admit is safe from any goroutine; Configure, Reload and Close may be called from any, and wait for each other.
type Gate struct {
	options  Options
	state    atomic.Pointer[state]
	failures failures
	unasked  usage // of those that are not asked; only refusals are counted there
	lines    lines // of the log

	mu      sync.Mutex
	timer   *time.Timer // until the next key expires; nil = none does
	checked time.Time   // until when expired keys were told of
	closed  bool
}

// state is what requests read. Immutable.
type state struct {
	Settings
	keys  *keySet             // nil = nobody is asked
	local *identity.Principal // who is not asked
}

// NewGate returns a gate that asks nobody, until Configure.
func NewGate(o Options) *Gate {
	if o.Came == nil {
		o.Came = o.Changed
	}
	g := &Gate{options: o}
	g.failures.flood.log = o.Log
	g.state.Store(&state{local: identity.Local})
	return g
}

// Configure puts settings in force. A key file that cannot be read leaves the keys that were in force before, and is the error (a *FileError); where
// there were none, and as long as there is no file, nobody has a key.
func (g *Gate) Configure(s Settings) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Rights == nil {
		s.Rights = func([]string, string, bool) string { return "" }
	}
	return g.install(s)
}

// Reload reads the key file again. One that cannot be read changes nothing; the error says why.
func (g *Gate) Reload() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.state.Load()
	if was.Keys == "" {
		return nil
	}
	return g.install(was.Settings)
}

// install makes the next state. The caller has the lock.
func (g *Gate) install(s Settings) error {
	was := g.state.Load()
	next := &state{Settings: s, local: identity.Local}
	if rights := s.rights(nil, "", true); rights != "" {
		who := *identity.Local
		who.Rights, who.Policy = rights, s.Policy
		if s.Admin != nil {
			who.Admin = s.Admin(rights, true)
		}
		next.local = &who
	}
	var err error
	if s.Keys != "" {
		var keys []Key
		if keys, err = Load(s.Keys); err != nil && was.keys != nil && was.Keys == s.Keys {
			keys = was.keys.keys // with the rights that they have now
		}
		next.keys = newKeySet(keys, &s, was.keys)
	}
	gone, changed, come := was.keys.changedTo(next.keys)
	for _, them := range []map[string]*identity.Principal{changed, come} {
		for id, who := range them {
			if !who.Expires.IsZero() && !time.Now().Before(who.Expires) {
				them[id] = nil
			}
		}
	}
	tell(g.options.Changed, gone) // all before anybody is let in by it: who has come is known then
	tell(g.options.Changed, changed)
	tell(g.options.Came, come)
	g.state.Store(next)
	g.expire()
	return err
}

// Known tells of those who have keys, by id, and as nil of those of them whose keys have expired; of nobody where nobody is asked. While it does,
// nobody comes or goes.
func (g *Gate) Known(tell func(all, expired map[string]*identity.Principal)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, expired := map[string]*identity.Principal{}, map[string]*identity.Principal{}
	for id, e := range g.state.Load().keys.byID() {
		if all[id] = e.who; !e.who.Expires.IsZero() && !time.Now().Before(e.who.Expires) {
			expired[id] = nil
		}
	}
	tell(all, expired)
}

func (s *Settings) rights(roles []string, key string, local bool) string {
	if s.Rights == nil {
		return ""
	}
	return s.Rights(roles, key, local)
}

func tell(who func(map[string]*identity.Principal), news map[string]*identity.Principal) {
	if len(news) > 0 && who != nil {
		who(news)
	}
}

// expiryStep is how long the timer sleeps at most: a machine that was suspended has a clock that has moved on without it.
const expiryStep = time.Minute

// expire tells whose key has expired, and looks again when the next one does. The caller has the lock.
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
	tell(g.options.Changed, expired)
	if !next.IsZero() {
		g.timer = time.AfterFunc(min(next.Sub(now), expiryStep), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.expire()
		})
	}
}

// Close ends the timers. Requests are decided as before.
func (g *Gate) Close() {
	g.failures.endSum()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed = true; g.timer != nil {
		g.timer.Stop()
	}
}

// Locked reports whether clients have to say who they are.
func (g *Gate) Locked() bool { return g.state.Load().keys != nil }

// Asks reports whether every request has to be admitted: clients say who they are, or what they may is limited although they need not.
func (g *Gate) Asks() bool {
	s := g.state.Load()
	return s.keys != nil || s.local.Rights != ""
}

// Unasked is whoever shows no credential, as long as none is wanted; nil = one is. A proxy or tunnel makes a request that of nobody known.
func (g *Gate) Unasked() *identity.Principal {
	if s := g.state.Load(); s.keys == nil {
		return s.local
	}
	return nil
}

// Admit decides about one request.
func (g *Gate) Admit(r *downstream.Request) downstream.Admitted {
	s, now := g.state.Load(), time.Now()
	if s.keys == nil {
		if r.Proxied {
			return g.denyNetwork(r, now, Denial{Peer: r.Peer.Addr(), Reason: "came through a proxy or tunnel"}, refusedTunnel)
		}
		return g.allow(s, r, now, s.local, &g.unasked, netip.Addr{})
	}
	peer, client := r.Peer.Addr(), netip.Addr{}
	if r.Proxied && trusts(s.Proxies, peer) {
		var ok bool
		if client, ok = forwardedFor(r, s.Proxies); !ok {
			return g.denyNetwork(r, now, Denial{Peer: peer, Reason: "contradicting headers of a proxy"}, refusedForwarded)
		}
		if client.IsValid() {
			peer = client
		}
	}
	token, kind := bearerOf(r)
	switch kind {
	case presentedNothing:
		return downstream.Admitted{Refusal: refusedNobody} // how many clients begin; nobody has to know
	case presentedMalformed:
		return g.fail(r, now, Denial{Peer: peer, Reason: "malformed credential"}, refusedMalformed)
	}
	sum, ok := sumOf(token)
	if !ok {
		return g.fail(r, now, Denial{Peer: peer, Reason: "no API key, or a mistyped one"}, refusedInvalid)
	}
	e := s.keys.find(&sum)
	switch {
	case e == nil:
		return g.fail(r, now, Denial{Peer: peer, Reason: "unknown or revoked key"}, refusedInvalid)
	case !e.who.Expires.IsZero() && !now.Before(e.who.Expires):
		return g.fail(r, now, Denial{Who: e.who, Peer: peer, Reason: "expired key"}, refusedExpired)
	}
	return g.allow(s, r, now, e.who, e.use, client)
}

// AdmitBatch counts the messages of a batch as so many requests: else one would stand for a thousand.
func (g *Gate) AdmitBatch(who *identity.Principal, more int) *downstream.Refusal {
	s, now := g.state.Load(), time.Now()
	if s.Rates == nil {
		return nil
	}
	for range more {
		if after, ok := s.Rates.Allow(now, who); !ok {
			return refusedOften("Too many requests of this principal in a batch", after)
		}
	}
	return nil
}

// allow lets somebody in whose rate and share permit it.
func (g *Gate) allow(s *state, r *downstream.Request, now time.Time, who *identity.Principal, use *usage, client netip.Addr) downstream.Admitted {
	denial := Denial{Who: who, Peer: client}
	if !client.IsValid() {
		denial.Peer = r.Peer.Addr()
	}
	if s.Rates != nil {
		if after, ok := s.Rates.Allow(now, who); !ok {
			denial.Reason = "too many requests"
			return g.denyUse(r, now, use, denial, refusedOften("Too many requests of this principal", after))
		}
	}
	admitted := downstream.Admitted{Who: who, Client: client}
	if s.keys == nil { // nobody else to be fair to
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
		denial.Reason = "too much under way"
		return g.denyUse(r, now, use, denial, refusedFull)
	}
	return admitted
}

// fail refuses a credential. A network that has sent too many is told so instead.
func (g *Gate) fail(r *downstream.Request, now time.Time, d Denial, why *downstream.Refusal) downstream.Admitted {
	one := g.failures.add(now, d.Peer, g.lines.take)
	if one.tooMany {
		why = refusedOften("Too many wrong credentials", one.left)
	}
	return g.deny(r, d, why, one.tell)
}

// denyNetwork is deny for what comes from a network.
func (g *Gate) denyNetwork(r *downstream.Request, now time.Time, d Denial, why *downstream.Refusal) downstream.Admitted {
	return g.deny(r, d, why, g.failures.add(now, d.Peer, g.lines.take).tell)
}

// denyUse is deny for somebody known, of which the log hears once a second at most.
func (g *Gate) denyUse(r *downstream.Request, now time.Time, use *usage, d Denial, why *downstream.Refusal) downstream.Admitted {
	return g.deny(r, d, why, use.told.Swap(now.Unix()) != now.Unix() && g.lines.take(now))
}

// deny refuses, and says so to those who keep watch; the log hears of it if it is told.
func (g *Gate) deny(r *downstream.Request, d Denial, why *downstream.Refusal, tell bool) downstream.Admitted {
	d.Status, d.Error, d.Path = why.Status, string(why.Fault.Name), status.Cut(string(r.Path), shownPath)
	if g.options.Log != nil && tell {
		g.options.Log.Warn("a client was refused", "who", nameOf(d.Who), "from", d.From(), "path", d.Path, "status", d.Status, "reason", d.Reason)
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
