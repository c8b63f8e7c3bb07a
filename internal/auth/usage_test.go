package auth

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// The open requests of a principal are limited, also across reloads of its key, and streams do not count as calls.
func TestLeases(t *testing.T) {
	d := newTestGate(t)
	a, b := d.issue(Key{Name: "a"}), d.issue(Key{Name: "b"})
	d.configure(Settings{MaxCalls: 2, MaxStreams: 3})
	stream := func(key string) *downstream.Request {
		r := request("Bearer " + key)
		r.Stream = true
		return r
	}
	var held []downstream.Lease
	hold := func(r *downstream.Request) int {
		got := d.Admit(r)
		if got.Refusal != nil {
			return got.Refusal.Status
		}
		held = append(held, got.Lease)
		return 0
	}
	for i, want := range []int{0, 0, 0, 503} {
		if got := hold(stream(a)); got != want {
			t.Errorf("stream %d: refused with %d, want %d", i, got, want)
		}
	}
	for i, want := range []int{0, 0, 503} {
		if got := hold(request("Bearer " + a)); got != want {
			t.Errorf("call %d: refused with %d, want %d", i, got, want)
		}
	}
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := hold(request("Bearer " + a)); got != 503 {
		t.Errorf("call over the limit after a reload: refused with %d, want 503", got)
	}
	if got := hold(request("Bearer " + b)); got != 0 {
		t.Errorf("call of another principal: refused with %d", got)
	}
	for _, lease := range held {
		lease.Release()
	}
	if got := hold(request("Bearer " + a)); got != 0 {
		t.Errorf("call after all leases were released: refused with %d", got)
	}
	if told := strings.Count(d.log.String(), "\n"); told < 1 || told > 2 || len(d.denied) != 3 {
		t.Errorf("%d log lines, want 1 or 2; %d denials reported, want 3", told, len(d.denied))
	}
}

type rateOf func(principal, rights string) bool

func (f rateOf) Allow(_ time.Time, who *identity.Principal) (time.Duration, bool) {
	return 1500 * time.Millisecond, f(who.ID, who.Rights)
}

// S5.2.2.
func TestRates(t *testing.T) {
	d := newTestGate(t)
	a := d.issue(Key{Name: "a"})
	d.configure(Settings{
		Rights: func([]string, string, bool) string { return "r" },
		Rates:  rateOf(func(principal, rights string) bool { return principal != "key:a" || rights != "r" }),
	})
	got := d.Admit(request("Bearer " + a))
	if got.Refusal == nil || got.Refusal.Status != 429 || got.Refusal.Fault.RetryAfter != 1500*time.Millisecond || got.Refusal.Fault.Name != "RATE_LIMITED" {
		t.Errorf("over the rate of key a: got %+v, want 429 RATE_LIMITED with RetryAfter 1.5s", got.Refusal)
	}
	if err := d.Configure(Settings{Rights: func(_ []string, _ string, local bool) string { return map[bool]string{true: "l"}[local] },
		Rates: rateOf(func(principal, rights string) bool { return principal != "local" || rights != "l" })}); err != nil {
		t.Fatal(err)
	}
	if got := d.Admit(request("")); !d.ChecksAll() || got.Refusal == nil || got.Refusal.Status != 429 {
		t.Errorf("over the rate of unauthenticated clients: got %+v, want 429", got)
	}
}

// Each message of a batch counts as one request. Without rates, batches are unlimited.
func TestRatesOfABatch(t *testing.T) {
	d, left := newTestGate(t), 5
	a := d.issue(Key{Name: "a"})
	d.configure(Settings{Rates: rateOf(func(principal, _ string) bool { left--; return principal == "key:a" && left >= 0 })})
	who := d.Admit(request("Bearer " + a)).Principal
	if got := d.AdmitBatch(who, 4); got != nil {
		t.Errorf("batch within the rate: got %+v, want nil", got)
	}
	if got := d.AdmitBatch(who, 1023); got == nil || got.Status != 429 || left != -1 {
		t.Errorf("batch over the rate: got %+v, want 429; %d left, want -1 (counting stops at the first refusal)", got, left)
	}
	d.configure(Settings{})
	if got := d.AdmitBatch(who, 1023); got != nil {
		t.Errorf("batch without rates: got %+v, want nil", got)
	}
}
