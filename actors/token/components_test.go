package token

import (
	"errors"
	"slices"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
	"goblin-actor/protocol/upstream"
)

// At most maxForced renewals are forced within forcedWithin of the publication of the last token. Failed ones do not
// count.
func TestForcedRenewals(t *testing.T) {
	var r renewal
	r.succeeded(epoch)
	for i := range maxForced + 2 {
		if got := r.mayForce(epoch.Add(forcedWithin - 1)); got != (i < maxForced) {
			t.Errorf("mayForce, call %d: %v", i, got)
		}
	}
	r.failed(epoch, errors.New("refused"), 0)
	if !r.mayForce(epoch) || r.mayForce(epoch) {
		t.Error("a failed renewal must give back exactly one forced renewal")
	}
	if !r.mayForce(epoch.Add(forcedWithin)) || r.forced != 1 {
		t.Errorf("%d forced renewals after forcedWithin, want 1", r.forced)
	}
}

// The pause after a temporary error doubles with each failure, up to backoffMax. After any other error it is backoffMax at once.
// Jitter shortens it by less than half.
func TestRenewalBackoff(t *testing.T) {
	temporary := &oauth.NetworkError{Op: "refresh", Err: errors.New("refused")}
	for _, test := range []struct {
		failures int // earlier failures
		err      error
		jitter   float64
		want     time.Duration
	}{
		{0, temporary, 0, backoffMin},
		{0, temporary, 0.5, backoffMin * 3 / 4},
		{1, temporary, 0, 2 * backoffMin},
		{3, temporary, 0, 8 * backoffMin},
		{9, temporary, 0, backoffMax},
		{1 << 20, temporary, 0, backoffMax},
		{0, errors.New("invalid_client"), 0, backoffMax},
	} {
		r := renewal{failures: test.failures}
		got := r.failed(epoch, test.err, test.jitter)
		if got != test.want || !r.retryAt.Equal(epoch.Add(got)) || r.failures != test.failures+1 || r.fault != test.err {
			t.Errorf("after %d failures, %v: %v, retry at %v; want %v", test.failures, test.err, got, r.retryAt, test.want)
		}
	}
}

func TestRenewAfter(t *testing.T) {
	for _, test := range []struct {
		life, used time.Duration
		jitter     float64
		want       time.Duration
	}{
		{time.Hour, 0, 0, 48 * time.Minute},
		{time.Hour, 0, 1, 42 * time.Minute},
		{time.Hour, 40 * time.Minute, 0, 8 * time.Minute},
		{time.Hour, 2 * time.Hour, 0, minRenewInterval},
		{5 * time.Second, 0, 0, 4 * time.Second}, // a short-lived token is renewed before it expires
	} {
		token := oauth.Token{Received: epoch, Expires: epoch.Add(test.life)}
		if got := renewAfter(epoch.Add(test.used), token, test.jitter); (got - test.want).Abs() > time.Millisecond {
			t.Errorf("lifetime %v, used for %v, jitter %v: %v, want %v", test.life, test.used, test.jitter, got, test.want)
		}
	}
}

// busy returns true while any step is in progress, and wakeAfter invalidates earlier timers.
func TestRenewalSteps(t *testing.T) {
	var n counter
	for name, begin := range map[string]func(*renewal){
		"request": func(r *renewal) { r.begin(&n) },
		"read":    func(r *renewal) { r.reading = true },
		"write":   func(r *renewal) { r.storing = n.next() },
	} {
		var r renewal
		if r.busy() {
			t.Error("a new renewal is busy")
		}
		if begin(&r); !r.busy() {
			t.Errorf("%s: not busy", name)
		}
		if r.cancel(); r.busy() {
			t.Errorf("%s: busy after cancel", name)
		}
		r.wakeAfter(time.Second, nil)
		if before := r.timer; func() bool { r.wakeAfter(time.Second, nil); return r.timer == before }() {
			t.Error("two timers have the same generation")
		}
	}
}

// Each waiting request gets one verdict. A request beyond maxRefused is denied at once.
func TestRefusals(t *testing.T) {
	verdicts := func(r *refusals, end func() int) (waiting, answered int) {
		for range maxRefused {
			r.await(make(chan upstream.Verdict, 1), nil)
		}
		return len(r.waiting), end()
	}
	var r refusals
	if waiting, answered := verdicts(&r, func() int { return len(r.retryAll(nil)) }); waiting != maxRefused || answered != maxRefused || r.denied {
		t.Errorf("%d wait, %d are retried, denied %v", waiting, answered, r.denied)
	}
	if waiting, answered := verdicts(&r, func() int { return len(r.await(nil, nil)) }); waiting != maxRefused || answered != 1 || !r.denied {
		t.Errorf("%d wait, %d are denied at once, denied %v", waiting, answered, r.denied)
	}
	if out := r.denyAll(errLoop, nil); len(out) != maxRefused || len(r.waiting) != 0 {
		t.Errorf("%d are denied, %d wait", len(out), len(r.waiting))
	}
}

// displaced returns the oldest pending login of a principal that already has maxLoginsOfOne, and drop ends it.
func TestDisplacedLogin(t *testing.T) {
	l := logins{pending: map[uint64]*pendingLogin{1: {who: "bob"}}}
	for n := uint64(2); n < 2+maxLoginsOfOne; n++ {
		if oldest := l.displaced("ada"); oldest != 0 {
			t.Errorf("login %d displaces login %d", n, oldest)
		}
		l.pending[n] = &pendingLogin{who: "ada", reply: make(chan message.LoginStarted, 1), taken: true}
	}
	out := l.drop(l.displaced("ada"), ErrOvertaken, nil)
	if s, is := out[0].Act.(started); !is || !errors.Is(s.what.Err, ErrOvertaken) || len(out) != 2 || out[1].Act != any(release{1}) {
		t.Errorf("drop: %+v", out)
	}
	left := make([]uint64, 0, len(l.pending))
	for n := range l.pending {
		left = append(left, n)
	}
	if slices.Sort(left); !slices.Equal(left, []uint64{1, 3, 4, 5}) {
		t.Errorf("left: %v", left)
	}
}

// A logout is answered after all its results have arrived, with the first failure.
func TestLogoutSettles(t *testing.T) {
	for _, test := range []struct {
		name    string
		results []func(*logouts)
		err     bool
	}{
		{"both succeed", []func(*logouts){func(v *logouts) { v.revoked(revoked{number: 1}, nil) }, func(v *logouts) { v.forgotten(2, "", nil) }}, false},
		{"the revocation fails", []func(*logouts){func(v *logouts) { v.revoked(revoked{1, errors.New("500")}, nil) }, func(v *logouts) { v.forgotten(2, "", nil) }}, true},
		{"the store fails", []func(*logouts){func(v *logouts) { v.forgotten(2, "disk full", nil) }, func(v *logouts) { v.revoked(revoked{number: 1}, nil) }}, true},
	} {
		v := logouts{late: map[uint64]lateToken{}, pending: map[uint64]*logout{}}
		l := &logout{}
		v.all = append(v.all, l)
		v.await(l, 1)
		v.await(l, 2)
		for i, result := range test.results {
			if len(v.all) != 1 || l.left != 2-i {
				t.Errorf("%s: before result %d: %d results left", test.name, i, l.left)
			}
			result(&v)
			v.revoked(revoked{number: 9}, nil) // unknown
		}
		if v.size() != 0 || (l.err != nil) != test.err {
			t.Errorf("%s: %d left over, error %v", test.name, v.size(), l.err)
		}
	}
}
