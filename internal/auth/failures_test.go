package auth

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Wrong credentials are counted per network. Requests with a good key still pass.
func TestFailuresAreCounted(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "a"})
	d.configure(Settings{})
	synctest.Test(t, func(t *testing.T) {
		try := func(from, authorization string) string {
			r := request(authorization)
			r.Peer = netip.AddrPortFrom(netip.MustParseAddr(from), 1)
			return d.answer(r)[:3]
		}
		for range maxFailures {
			if got := try("2001:db8::1", "Bearer x"); got != "401" {
				t.Fatal(got)
			}
		}
		told := len(d.denied)
		for from, want := range map[string]string{"2001:db8::2": "429", "2001:db8:0:1::2": "401", "192.0.2.1": "401"} {
			if got := try(from, "Bearer x"); got != want {
				t.Errorf("from %s: got %s, want %s", from, got, want)
			}
		}
		if len(d.denied) != told+3 {
			t.Errorf("%d denials reported, want 3", len(d.denied)-told)
		}
		if got := try("2001:db8::1", "Bearer "+key); got != "key" {
			t.Errorf("good key from a network over the limit: got %s, want key", got)
		}
		time.Sleep(failureWindow)
		if got := try("2001:db8::1", "Bearer x"); got != "401" {
			t.Errorf("after the window: got %s, want 401", got)
		}
	})
	var f failures
	now := time.Now()
	for i := range 3 * maxNetworks {
		f.add(now, netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), func(time.Time) bool { return false })
	}
	if len(f.byNetwork) > maxNetworks {
		t.Errorf("%d networks are tracked, want at most maxNetworks", len(f.byNetwork))
	}
	if all, rest := f.takeSummary(); len(all)+rest.networks != 3*maxNetworks || rest.count != rest.networks {
		t.Errorf("summary of %d networks has %d of them and %+v", 3*maxNetworks, len(all), rest)
	}
}

// Failures from many networks, a few from each, are limited to maxLogLines log lines per second.
func TestManyNetworksDoNotFillTheLog(t *testing.T) {
	d := newTestGate(t)
	d.issue(Key{Name: "a"})
	d.configure(Settings{Keys: d.path})
	for i := range 5000 {
		r := request("Bearer gba_no")
		r.Peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 1)
		if d.Admit(r).Refusal != refusedInvalid {
			t.Fatal("got another result than refusedInvalid")
		}
	}
	if n := strings.Count(d.log.String(), "\n"); n < maxLogLines || n > 10*maxLogLines { // the loop may take several seconds
		t.Errorf("%d log lines, want %d per second", n, maxLogLines)
	}
	if len(d.denied) != 5000 {
		t.Errorf("%d denials reported, want all 5000: the audit log aggregates them itself", len(d.denied))
	}
}

// Refusals that were not logged are summarized once a minute: one line per network for the networks with the most, one
// line for all others.
func TestSummaryOfUnloggedRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestGate(t)
		d.issue(Key{Name: "a"})
		d.configure(Settings{Keys: d.path})
		flood := func(from string, times int) {
			r := request("Bearer gba_no")
			r.Peer = netip.AddrPortFrom(netip.MustParseAddr(from), 1)
			for range times {
				d.Admit(r)
			}
		}
		logged := func() (sums []string) {
			synctest.Wait()
			for line := range strings.Lines(d.logged()) {
				if _, sum, ok := strings.Cut(line, "further refused requests were not logged individually\" "); ok {
					sums = append(sums, strings.TrimSpace(sum))
				}
			}
			return sums
		}
		flood("192.0.2.1", maxFailures)
		time.Sleep(time.Second) // at most maxLogLines lines are logged each second
		flood("192.0.2.1", 300)
		flood("2001:db8::1", 5)
		flood("2001:db8::2", 1000)
		time.Sleep(summaryInterval - time.Nanosecond)
		if got := logged(); got != nil {
			t.Errorf("summary logged a nanosecond too early: %q", got)
		}
		time.Sleep(time.Nanosecond)
		if got, want := logged(), []string{"from=2001:db8::/64 more=985", "from=192.0.2.1 more=300"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		time.Sleep(time.Hour)
		if got := logged(); got != nil {
			t.Errorf("summary logged again: %q", got)
		}
		for i := range 2 * summaryNetworks {
			flood(fmt.Sprint("192.0.2.", 100+i), maxFailures)
		}
		time.Sleep(summaryInterval)
		if got := logged(); len(got) != summaryNetworks+1 && len(got) != summaryNetworks || !strings.Contains(got[len(got)-1], `from="other networks" networks=`) {
			t.Errorf("summary of many networks: got %q, want summaryNetworks networks and the others", got)
		}
		flood("192.0.2.1", 50) // its summary is pending when the gate is closed
		d.Close()
		if got, want := logged(), []string{"from=192.0.2.1 more=30"}; !slices.Equal(got, want) {
			t.Errorf("summary at Close: got %q, want %q", got, want)
		}
		flood("192.0.2.1", 50)
		time.Sleep(time.Hour)
		if got := logged(); got != nil {
			t.Errorf("summary logged after Close: %q", got)
		}
		if len(d.denied) != maxFailures+300+5+1000+2*summaryNetworks*maxFailures+100 {
			t.Errorf("%d denials reported, want all", len(d.denied))
		}
	})
}
