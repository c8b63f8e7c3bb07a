package auth

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
)

// Load refuses a key file that group or others may access in any way. Each permission is tested separately.
func TestLoadRequiresPrivateFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits do not control access on Windows")
	}
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte(line("ci", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for bit := os.FileMode(0o001); bit <= 0o400; bit <<= 1 {
		if err := os.Chmod(path, 0o600|bit); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if refused := err != nil && strings.Contains(err.Error(), ErrShared.Error()); refused != (bit < 0o100) {
			t.Errorf("mode %04o: got %v", 0o600|bit, err)
		}
	}
}

// Names and lists may have their maximum length, and not one more.
func TestParseLimits(t *testing.T) {
	names := func(n int) string { return strings.TrimSuffix(strings.Repeat("a, ", n), ", ") }
	named := func(name string) string { return strings.Replace(line("n", ""), "n:", name+":", 1) }
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{named(strings.Repeat("n", maxNameBytes)), true}, {named(strings.Repeat("n", maxNameBytes+1)), false},
		{line("n", ", roles: ["+names(maxListed)+"]"), true}, {line("n", ", roles: ["+names(maxListed+1)+"]"), false},
		{line("n", ", projects: ["+names(maxListed)+"]"), true}, {line("n", ", projects: ["+names(maxListed+1)+"]"), false},
		{line("n", ", roles: ["+strings.Repeat("r", maxNameBytes)+"]"), true}, {line("n", ", roles: ["+strings.Repeat("r", maxNameBytes+1)+"]"), false},
		{line("0", ""), true}, {line("z", ""), true}, {line("A", ""), true}, {line("Z9", ""), true},
		{line("-n", ""), false}, {line(".n", ""), false}, {line("_n", ""), false}, {line("n-", ""), true}, {line("n/", ""), false}, {line("n@", ""), false}, {line("n[", ""), false}, {line("n`", ""), false}, {line("n{", ""), false},
	} {
		if _, err := Parse([]byte(c.text)); (err == nil) != c.ok {
			t.Errorf("Parse(%.80q): got %v, want success: %v", c.text, err, c.ok)
		}
	}
	for n, want := range map[int]int{maxErrors: maxErrors, maxErrors + 1: maxErrors + 1, maxErrors + 2: maxErrors + 1} {
		_, err := Parse([]byte(strings.Repeat("x\n", n)))
		if lines := strings.Count(err.Error(), "\n") + 1; lines != want || strings.Contains(err.Error(), "more errors follow") != (n > maxErrors) {
			t.Errorf("%d errors: %d lines, want %d: %v", n, lines, want, err)
		}
	}
	path := filepath.Join(t.TempDir(), "keys.yaml")
	for size, ok := range map[int]bool{maxFileBytes: true, maxFileBytes + 1: false} {
		if err := os.WriteFile(path, []byte("#"+strings.Repeat("x", size-1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); (err == nil) != ok {
			t.Errorf("file of %d bytes: got %v, want success: %v", size, err, ok)
		}
	}
}

// A network may fail maxFailures times within the window, which starts at its first failure and ends exactly after
// failureWindow.
func TestFailureWindow(t *testing.T) {
	now := time.Unix(1000, 0)
	all := func(time.Time) bool { return true }
	for _, c := range []struct {
		failures int
		after    time.Duration
		tooMany  bool
		left     time.Duration
	}{
		{maxFailures - 1, time.Second, false, failureWindow - time.Second}, {maxFailures, time.Second, true, failureWindow - time.Second},
		{maxFailures, failureWindow - 1, true, 1}, {maxFailures, failureWindow, false, failureWindow},
	} {
		var f failures
		from := netip.MustParseAddr("192.0.2.1")
		for range c.failures {
			f.add(now, from, all)
		}
		if got := f.add(now.Add(c.after), from, all); got.tooMany != c.tooMany || got.remaining != c.left || got.log == c.tooMany {
			t.Errorf("failure %d, %v after the first: got %+v, want too many %v, remaining %v", c.failures+1, c.after, got, c.tooMany, c.left)
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true}, {"192.0.2.0", "192.0.2.1", false}, {"2001:db8::1", "2001:db8::ffff:0:0:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false}, {"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		if got := networkOf(netip.MustParseAddr(c.a)) == networkOf(netip.MustParseAddr(c.b)); got != c.same {
			t.Errorf("%s and %s are counted together: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

// maxNetworks networks are tracked. When there are more, expired ones are dropped first, at most once a second.
func TestNetworksAreLimited(t *testing.T) {
	var f failures
	now := time.Unix(1000, 0)
	add := func(at time.Time, i int) {
		f.add(at, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), func(time.Time) bool { return false })
	}
	for i := range maxNetworks {
		add(now, i)
	}
	if len(f.byNetwork) != maxNetworks || f.summary.rest.networks != 0 {
		t.Errorf("%d networks tracked, %d evicted; want all", len(f.byNetwork), f.summary.rest.networks)
	}
	add(now, maxNetworks)
	if len(f.byNetwork) != maxNetworks || f.summary.rest.networks != 1 || f.summary.rest.count != 1 {
		t.Errorf("one more: %d networks tracked, rest %+v; want one evicted", len(f.byNetwork), f.summary.rest)
	}
	add(now.Add(failureWindow), maxNetworks+1)
	if len(f.byNetwork) != 1 {
		t.Errorf("after the window %d networks are tracked, want 1", len(f.byNetwork))
	}
}

// At most maxLogLines lines are logged per second.
func TestLogLimiter(t *testing.T) {
	var l logLimiter
	for second := range int64(2) {
		for i := range maxLogLines + 2 {
			if got := l.allow(time.Unix(1000+second, int64(i))); got != (i < maxLogLines) {
				t.Errorf("line %d of second %d: allowed %v", i+1, second, got)
			}
		}
	}
}

// A limit of 0 means no limit, and a released lease can be taken again.
func TestLeaseLimits(t *testing.T) {
	for most, want := range map[int]int{0: 10, 1: 1, 3: 3, 10: 10} {
		use, taken := new(usage), 0
		for range 10 {
			if lease((*callLease)(use), &use.calls, most) != nil {
				taken++
			}
		}
		if taken != want || int(use.calls.Load()) != want {
			t.Errorf("limit %d: %d of 10 leases, %d counted, want %d", most, taken, use.calls.Load(), want)
		}
		(*callLease)(use).Release()
		if lease((*callLease)(use), &use.calls, most) == nil {
			t.Errorf("limit %d: no lease after a release", most)
		}
	}
}

// expiring reports the keys that expired between two times, and the time of the next expiry.
func TestExpiring(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	set := newKeySet([]Key{{Name: "a", Sum: Sum{1}, Expires: at(10)}, {Name: "b", Sum: Sum{2}, Expires: at(20)}, {Name: "c", Sum: Sum{3}, Expires: at(30)}, {Name: "never", Sum: Sum{4}}}, &Settings{}, nil)
	for _, c := range []struct {
		after, now time.Time
		expired    string
		next       time.Time
	}{
		{time.Time{}, at(9), "", at(10)}, {time.Time{}, at(10), "a", at(20)}, {at(9), at(10), "a", at(20)}, {at(10), at(19), "", at(20)},
		{at(10), at(30), "bc", time.Time{}}, {at(30), at(99), "", time.Time{}},
	} {
		expired, next := set.expiring(c.after, c.now)
		got := ""
		for _, name := range []string{"a", "b", "c", "never"} {
			if _, is := expired["key:"+name]; is {
				got += name
			}
		}
		if got != c.expired || !next.Equal(c.next) {
			t.Errorf("from %v to %v: expired %q, next %v; want %q, %v", c.after, c.now, got, next, c.expired, c.next)
		}
	}
}

// A list of proxies is examined up to maxHops entries from its end.
func TestHopsAreLimited(t *testing.T) {
	for proxies, want := range map[int]string{maxHops - 1: "192.0.2.1", maxHops: "10.0.0.1"} {
		list := "192.0.2.1" + strings.Repeat(", 10.0.0.1", proxies)
		client, ok := forwardedFor(withHeader("X-Forwarded-For: "+list), testProxies)
		if !ok || client.String() != want {
			t.Errorf("%d proxies: got %v, %v, want %s", proxies, client, ok, want)
		}
	}
}

// Refusals of a principal are logged at most once a second.
func TestRefusedPrincipalIsLoggedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestGate(t)
		key := d.issue(Key{Name: "a"})
		d.configure(Settings{Rates: rateOf(func(string, string) bool { return false })})
		for range 3 {
			for range 5 {
				d.Admit(request("Bearer " + key))
			}
			time.Sleep(time.Second)
		}
		if n := strings.Count(d.logged(), "request refused"); n != 3 || len(d.denied) != 15 {
			t.Errorf("%d log lines in three seconds, want 3; %d denials, want 15", n, len(d.denied))
		}
	})
}

// A key has the admin access that the policy grants, and none without a policy.
func TestAdminOfPrincipals(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "a"})
	for _, c := range []struct {
		admin func(string, bool) identity.Admin
		want  identity.Admin
	}{
		{nil, identity.AdminNone},
		{func(_ string, local bool) identity.Admin {
			return map[bool]identity.Admin{false: identity.AdminView, true: identity.AdminAct}[local]
		}, identity.AdminView},
	} {
		d.configure(Settings{Admin: c.admin})
		if got := d.Admit(request("Bearer " + key)).Principal.Admin; got != c.want {
			t.Errorf("with Admin %v: got %v, want %v", fmt.Sprint(c.admin != nil), got, c.want)
		}
	}
}
