package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/identity"
)

// Denial describes refused requests that agree in Who, From, What and Why.
type Denial struct {
	Number uint64    `json:"number"`         // increasing, in the order in which denials are first stored
	First  time.Time `json:"first"`          // the first of the requests
	Last   time.Time `json:"last"`           // the last of the requests
	Who    string    `json:"who"`            // name of the principal; Unknown = the client is not authenticated
	From   string    `json:"from,omitempty"` // address of the client; OtherAddresses = several; empty = unknown
	What   string    `json:"what"`           // path, or method and item; OtherRequests = several
	Why    string    `json:"why"`
	Rule   string    `json:"rule,omitempty"` // what would permit the request; empty = nothing would, or unknown
	Times  uint64    `json:"times"`          // number of the requests
}

// Values of Denial fields.
const (
	Unknown        = "?"
	OtherAddresses = "other addresses"
	OtherRequests  = "other requests"
)

// Limits of stored denials. A principal has at most maxDenialsOfOne, and so have all unknown clients together. A
// flood of requests from many addresses therefore does not displace the denials of principals.
const (
	maxDenials      = 256
	maxDenialsOfOne = 64
	denialAge       = 10 * time.Minute // a denial without a request for this long is displaced first
	maxDenialText   = 200              // bytes of each text; Rule may have twice as many
	maxDenialRead   = 1024             // bytes of Refusal.What that are read
)

// Refusal is a request that is refused.
type Refusal struct {
	Who    *identity.Principal // nil = identity.Local; ignored if Unknown is true
	From   string              // Denial.From
	What   string              // Denial.What
	Why    string              // Denial.Why; a constant, because text from clients would make equal denials differ
	Rule   func() string       // returns Denial.Rule; called for the first of equal refusals; nil = no rule
	Report bool                // the policy only reports: the request was executed

	Unknown bool // the client is not authenticated, although it must be
}

// Deny stores a refused request. It also counts the request for its principal, unless the client is unknown or the policy
// only reports. It is safe for concurrent use.
func (m *Metrics) Deny(now time.Time, r Refusal) {
	who := Unknown
	if !r.Unknown {
		if who = identity.Of(r.Who).Name; !r.Report {
			why := r.Why // &r.Why would keep the whole Refusal in memory
			m.usageOf(r.Who).Refuse(now, &why)
		}
	}
	m.denials.add(now, denialKey{Printable(who, maxDenialText), Printable(r.From, maxDenialText), shortened(r.What), Printable(r.Why, maxDenialText)}, r.Rule)
}

// usageOf returns the counts of a principal. Principals without counts of their own share those of local.
func (m *Metrics) usageOf(who *identity.Principal) *identity.Usage {
	if who == nil || who.Usage == nil {
		return &m.local
	}
	return who.Usage
}

// shortened returns s without API keys, which clients may send in the wrong place, cut to maxDenialText bytes. It reads only the
// beginning of s, which may be as long as a message.
func shortened(s string) string {
	rest := Printable(s[:min(len(s), maxDenialRead)], maxDenialRead)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(rest, keyPrefix)
		b.WriteString(before)
		if !found {
			return Printable(b.String(), maxDenialText)
		}
		b.WriteString(keyPrefix)
		if rest = strings.TrimLeft(after, keyLetters); len(rest) < len(after) {
			b.WriteString("…")
		}
	}
}

// An API key is keyPrefix and keyLetters: see internal/auth.
const (
	keyPrefix  = "gba_"
	keyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// Denials returns the stored denials, the newest first.
func (m *Metrics) Denials() []Denial { return m.denials.list() }

// Denials returns the stored denials, the newest first.
func (l Local) Denials(context.Context) ([]Denial, error) {
	return without(l.Counters.Denials(), l.Known), nil
}

// denialTable stores denials. It is safe for concurrent use. The zero value is ready.
type denialTable struct {
	mu    sync.RWMutex // only insertion and removal of rows need it exclusively
	rows  map[denialKey]*denialRow
	byWho map[string][]*denialRow // the same rows, in no order
	last  uint64                  // the newest Number
}

// denialRow is a stored Denial. last and times are used in place of its Last and Times.
type denialRow struct {
	Denial
	last  atomic.Int64 // Unix nanoseconds
	times atomic.Uint64
}

// count counts a request. The caller must hold mu, not necessarily exclusively.
func (d *denialRow) count(now time.Time) {
	d.last.Store(now.UnixNano())
	d.times.Add(1)
}

// shown returns the row as a Denial.
func (d *denialRow) shown() Denial {
	shown := d.Denial
	shown.Last, shown.Times = time.Unix(0, d.last.Load()), d.times.Load()
	return shown
}

// denialKey is what equal denials have in common.
type denialKey struct{ who, from, what, why string }

func keyOfDenial(d *denialRow) denialKey { return denialKey{d.Who, d.From, d.What, d.Why} }

// several reports whether d stands for displaced denials.
func (d *denialRow) several() bool { return d.What == OtherRequests }

// add counts a request, and adds a row if there is none for it. Only then it calls rule, without holding a lock.
func (t *denialTable) add(now time.Time, key denialKey, rule func() string) {
	if t.count(now, key) {
		return
	}
	permits := ""
	if rule != nil {
		permits = Printable(rule(), 2*maxDenialText)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.rows[key]
	if d == nil {
		for len(t.byWho[key.who]) >= maxDenialsOfOne {
			t.merge(now, t.weakest(now, key.who))
		}
		for len(t.rows) >= maxDenials {
			t.remove(t.oldest())
		}
		d = t.insert(key, now)
		d.Rule = permits
	}
	d.count(now)
}

// count counts a request in its row. It returns false if there is none. Principals that repeat a request do not wait for each other.
func (t *denialTable) count(now time.Time, key denialKey) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d := t.rows[key]
	if d == nil {
		return false
	}
	d.count(now)
	return true
}

// insert adds a row that has not counted a request yet. The caller must hold mu.
func (t *denialTable) insert(key denialKey, first time.Time) *denialRow {
	if t.rows == nil {
		t.rows, t.byWho = map[denialKey]*denialRow{}, map[string][]*denialRow{}
	}
	t.last++
	d := &denialRow{Denial: Denial{Number: t.last, First: first.Round(0), Who: key.who, From: key.from, What: key.what, Why: key.why}}
	t.rows[key] = d
	t.byWho[key.who] = append(t.byWho[key.who], d)
	return d
}

// remove drops a row. The caller must hold mu.
func (t *denialTable) remove(d *denialRow) {
	delete(t.rows, keyOfDenial(d))
	rest := slices.DeleteFunc(t.byWho[d.Who], func(other *denialRow) bool { return other == d })
	if t.byWho[d.Who] = rest; len(rest) == 0 {
		delete(t.byWho, d.Who)
	}
}

// merge removes a row. It adds the row's counts to the row that stands for other requests of the principal that were refused for
// the same reason. If the removed row is such a row itself, its counts are lost. The caller must hold mu.
func (t *denialTable) merge(now time.Time, d *denialRow) {
	t.remove(d)
	if d.several() {
		return
	}
	key := denialKey{who: d.Who, what: OtherRequests, why: d.Why}
	if d.Who == Unknown {
		key.from = OtherAddresses
	}
	sum := t.rows[key]
	if sum == nil {
		sum = t.insert(key, now)
	}
	sum.times.Add(d.times.Load())
	if d.First.Before(sum.First) {
		sum.First = d.First
	}
	sum.last.Store(max(sum.last.Load(), d.last.Load()))
	sum.Rule = d.Rule
}

// weakest returns the row of a principal that is displaced next. Rows without a request for denialAge come first, and rows that
// stand for several last; then rows with fewer requests, and then older ones. The caller must hold mu.
func (t *denialTable) weakest(now time.Time, who string) (found *denialRow) {
	rank := func(d *denialRow) int {
		switch {
		case d.several():
			return 2
		case now.UnixNano()-d.last.Load() > int64(denialAge):
			return 0
		}
		return 1
	}
	for _, d := range t.byWho[who] {
		if found == nil || cmp.Or(rank(d)-rank(found), cmp.Compare(d.times.Load(), found.times.Load()), cmp.Compare(d.Number, found.Number)) < 0 {
			found = d
		}
	}
	return found
}

// oldest returns the row that has not counted a request for the longest time. The caller must hold mu.
func (t *denialTable) oldest() (found *denialRow) {
	for _, d := range t.rows {
		if found == nil || cmp.Or(cmp.Compare(d.last.Load(), found.last.Load()), cmp.Compare(d.Number, found.Number)) < 0 {
			found = d
		}
	}
	return found
}

func (t *denialTable) list() []Denial {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]Denial, 0, len(t.rows))
	for d := range maps.Values(t.rows) {
		list = append(list, d.shown())
	}
	slices.SortFunc(list, func(a, b Denial) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(b.Number, a.Number)) })
	return list
}
