package policy

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
)

func rated(rates map[string]string) *Policy {
	c := config.Policy{Present: true}
	for name, rate := range rates {
		c.Roles = append(c.Roles, config.Role{Name: name, Rate: rate})
	}
	return Compile(c)
}

// having returns a principal with the given rights.
func having(id, rights string) *identity.Principal {
	return &identity.Principal{ID: id, Rights: rights}
}

// The highest rate of the roles applies. A role without a rate is ignored.
func TestRatesOfRoles(t *testing.T) {
	p := rated(map[string]string{"slow": "10/min", "fast": "2/s", "same": "120/min", "none": ""})
	for rights, want := range map[string]string{"slow": "10/min", "fast": "2/s", "fast,slow": "2/s", "none": "", "none,slow": "10/min", "-": "", "fast,same": "120/min"} {
		if got := p.Rate(rights).String(); got != want {
			t.Errorf("Rate(%s) = %s, want %s", rights, got, want)
		}
	}
	if got := (*Policy)(nil).Rate(""); got != (config.Rate{}) {
		t.Errorf("Rate without a policy: got %v, want none", got)
	}
}

// S5.2.2: A bucket holds as many tokens as the rate permits, and reports when the next is available. A reload changes
// the rate without refilling it.
func TestRatesAllow(t *testing.T) {
	var r Rates
	now := time.Unix(1000, 0)
	if _, ok := r.Allow(now, having("key:a", "")); !ok {
		t.Fatal("refused without a policy")
	}
	r.Use(rated(map[string]string{"r": "2/min", "free": ""}))
	allow := func(who, rights string, want bool, wantAfter time.Duration) {
		t.Helper()
		if after, ok := r.Allow(now, having(who, rights)); ok != want || after.Round(time.Millisecond) != wantAfter {
			t.Fatalf("Allow(%s, %s) = %v, %v; want %v, %v", who, rights, after, ok, wantAfter, want)
		}
	}
	allow("key:a", "r", true, 0)
	allow("key:a", "r", true, 0)
	allow("key:a", "r", false, 30*time.Second)
	allow("key:b", "r", true, 0)
	allow("key:a", "free", true, 0)
	now = now.Add(10 * time.Second)
	allow("key:a", "r", false, 20*time.Second)
	now = now.Add(20 * time.Second)
	allow("key:a", "r", true, 0)
	allow("key:a", "r", false, 30*time.Second)
	r.Use(rated(map[string]string{"r": "1/s"}))
	allow("key:a", "r", false, time.Second)
	now = now.Add(time.Hour)
	allow("key:a", "r", true, 0)
	allow("key:a", "r", false, time.Second)
	late := having("key:late", "r") // still has the previous policy
	late.Policy = rated(map[string]string{"r": "3/min"})
	for i := range 5 {
		if _, ok := r.Allow(now, late); ok != (i < 3) {
			t.Errorf("request %d under the previous policy: allowed %v", i, ok)
		}
	}
}

// In report mode all requests pass, and at most one report a second is made.
func TestRatesReported(t *testing.T) {
	told := 0
	r := Rates{Reported: func(string) { told++ }}
	r.Use(Compile(config.Policy{Present: true, Mode: "report", Roles: []config.Role{{Name: "r", Rate: "1/h"}}}))
	now := time.Unix(1000, 0)
	for i := range 10 {
		if _, ok := r.Allow(now.Add(time.Duration(i)*300*time.Millisecond), having("key:a", "r")); !ok {
			t.Fatal("a request was refused in report mode")
		}
	}
	if told != 3 {
		t.Errorf("%d reports, want 3", told)
	}
}

// Concurrent connections of one principal share one bucket.
func TestAttack56RateOverManyGoroutines(t *testing.T) {
	var r Rates
	r.Use(rated(map[string]string{"r": "7/min"}))
	now := time.Unix(1000, 0)
	var through atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 10 {
				if _, ok := r.Allow(now, having("key:a", "r")); ok {
					through.Add(1)
				}
			}
		})
	}
	if wg.Wait(); through.Load() != 7 {
		t.Errorf("%d requests allowed, want 7", through.Load())
	}
}

// The number of buckets is limited. Full buckets are dropped first; a principal that gets no bucket has to wait.
func TestBucketsAreLimited(t *testing.T) {
	var b Buckets[int]
	now, limit := time.Unix(1000, 0), config.Rate{Requests: 1, Per: time.Minute}
	for i := range maxBuckets {
		b.Take(now, i, limit)
	}
	if after, ok := b.Take(now, -1, limit); ok || after != busy {
		t.Fatalf("Take beyond maxBuckets: got %v, %v", after, ok)
	}
	if _, ok := b.Take(now, 1, limit); ok {
		t.Fatal("an empty bucket was dropped")
	}
	now = now.Add(time.Minute)
	if _, ok := b.Take(now, -1, limit); !ok || len(b.buckets) != 1 {
		t.Fatalf("%d buckets, want 1 after dropping full ones", len(b.buckets))
	}
}

// Allow does not allocate.
func TestAllowDoesNotAllocate(t *testing.T) {
	var r Rates
	r.Use(rated(map[string]string{"a": "1000000/s", "b": "60/min", "c": ""}))
	now := time.Now()
	who := having("key:a", "a,b,c")
	r.Allow(now, who)
	if n := testing.AllocsPerRun(100, func() { r.Allow(now, who) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAllow(b *testing.B) {
	var r Rates
	roles := map[string]string{}
	for i := range 10 {
		roles[fmt.Sprintf("r%d", i)] = "1000000/s"
	}
	r.Use(rated(roles))
	now, who := time.Now(), having("key:a", "r1,r5,r9")
	for b.Loop() {
		r.Allow(now, who)
	}
}
