package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
)

func deniedNow(m *Metrics, r Refusal) { m.Deny(time.Now(), r) }

// Equal denials are one row with its first and last time, and the rule is computed once.
func TestEqualDenialsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked, began := NewMetrics(), 0, time.Now()
		ci := &identity.Principal{ID: "key:ci", Name: "ci", Usage: new(identity.Usage)}
		of := func(who *identity.Principal, what string) Refusal {
			return Refusal{Who: who, From: "10.0.0.4", What: what, Why: "no role permits it", Rule: func() string { asked++; return "role ops permits it" }}
		}
		for range 3 {
			deniedNow(m, of(ci, "tools/call a"))
			deniedNow(m, of(nil, "tools/call a"))
			time.Sleep(time.Second)
		}
		report := of(ci, "tools/call b")
		report.Report = true
		deniedNow(m, report)
		began = began.Round(0) // without the monotonic clock, which a row does not keep
		want := []Denial{
			{3, began.Add(3 * time.Second), began.Add(3 * time.Second), "ci", "10.0.0.4", "tools/call b", "no role permits it", "role ops permits it", 1},
			{2, began, began.Add(2 * time.Second), "local", "10.0.0.4", "tools/call a", "no role permits it", "role ops permits it", 3},
			{1, began, began.Add(2 * time.Second), "ci", "10.0.0.4", "tools/call a", "no role permits it", "role ops permits it", 3},
		}
		if got := m.Denials(); !slices.Equal(got, want) || asked != 3 {
			t.Errorf("%d rules computed, denials:\n%+v\nwant 3, and\n%+v", asked, got, want)
		}
		if n, local := ci.Usage.At(time.Now()).Refused, m.local.At(time.Now()).Refused; n != 3 || local != 3 {
			t.Errorf("refused: ci %d, local %d; want 3 each: what is only reported is not refused", n, local)
		}
	})
}

// A flood of wrong keys from 10 000 addresses takes a bounded number of rows, loses no count, and displaces neither
// clients that fail again and again nor the denials of principals.
func TestFloodOfWrongKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		for i := range 100 {
			who := &identity.Principal{ID: fmt.Sprint("key:", i), Name: fmt.Sprint(i)}
			deniedNow(m, Refusal{Who: who, From: "10.0.0.4", What: "tools/call a", Why: "no role permits it"})
		}
		wrong := func(from string) {
			deniedNow(m, Refusal{Unknown: true, From: from, What: "POST /mcp", Why: "unknown or revoked key"})
		}
		for i := range 10_000 {
			wrong(fmt.Sprintf("198.51.%d.%d", i/256, i%256))
			if i%50 == 0 {
				wrong("203.0.113.9")
			}
			time.Sleep(time.Millisecond)
		}
		var of [3]int // rows of principals, of addresses, and for several addresses
		var times uint64
		for _, d := range m.Denials() {
			switch {
			case d.Who != Unknown:
				of[0]++
				continue
			case d.From == OtherAddresses:
				of[2]++
			case d.From == "203.0.113.9" && d.Times != 200:
				t.Errorf("repeated failures: %+v, want 200 times", d)
			default:
				of[1]++
			}
			times += d.Times
		}
		if of != [3]int{100, maxDenialsOfOne - 1, 1} || times != 10_200 {
			t.Errorf("rows %v with %d requests of unknown clients; want 100, %d and 1 with 10200", of, times, maxDenialsOfOne-1)
		}
		if n := len(m.denials.byWho); n != 101 {
			t.Errorf("rows of %d principals are kept, want 101", n)
		}
	})
}

// Denials of many principals displace the oldest ones, and a principal with many requests does not displace those of others.
func TestDenialsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		for who := range 1000 {
			for what := range 1 + who%3*100 {
				deniedNow(m, Refusal{Who: &identity.Principal{Name: fmt.Sprint(who)}, What: fmt.Sprint(what), Why: fmt.Sprint("reason ", what%90)})
			}
			time.Sleep(time.Second)
		}
		rows := map[string]int{}
		for _, d := range m.Denials() {
			rows[d.Who]++
		}
		if n := len(m.Denials()); n != maxDenials || rows["999"] != 1 || rows["998"] != maxDenialsOfOne {
			t.Errorf("%d rows, %d of the last principal and %d of the one before; want %d, 1 and %d", n, rows["999"], rows["998"], maxDenials, maxDenialsOfOne)
		}
	})
}

// The rule of a denial is found without a lock, because it may take long. Meanwhile, other denials are stored.
func TestRuleIsFoundWithoutALock(t *testing.T) {
	m := NewMetrics()
	deniedNow(m, Refusal{What: "a", Why: "w", Rule: func() string {
		deniedNow(m, Refusal{What: "b", Why: "w"})
		return "a role"
	}})
	if got := m.Denials(); len(got) != 2 || got[1].What != "a" || got[1].Rule != "a role" || got[0].What != "b" {
		t.Errorf("denials: %+v", got)
	}
}

// Keys in the wrong place, control characters and long texts do not reach a denial.
func TestDenialTexts(t *testing.T) {
	m := NewMetrics()
	deniedNow(m, Refusal{Unknown: true, From: "a\x1b[31m", What: "GET /gba_0123456789abcdefABCDEF-_/gba_x" + strings.Repeat("y", 500), Why: "w\n"})
	if d := m.Denials()[0]; d.From != "a[31m" || d.What != "GET /gba_…/gba_…" || d.Why != "w" {
		t.Errorf("%+v", d)
	}
}

// A text as long as a message takes no longer than a short one, and a refusal keeps nothing of it.
func TestLongDenialText(t *testing.T) {
	m := NewMetrics()
	long := strings.Repeat("gba_a ", 10<<20)
	began := time.Now()
	m.Deny(began, Refusal{Unknown: true, What: long, Why: "w"})
	if d := m.Denials()[0]; len(d.What) > maxDenialText+len("…") || !strings.HasPrefix(d.What, "gba_… gba_…") {
		t.Errorf("stored %d bytes: %.40s", len(d.What), d.What)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("a text of %d bytes took %v", len(long), took)
	}
}

// BenchmarkEqualDenials measures clients that repeat a refused request at the same time.
func BenchmarkEqualDenials(b *testing.B) {
	m, now := NewMetrics(), time.Now()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			m.Deny(now, Refusal{Unknown: true, From: "10.0.0.4", What: "POST /mcp", Why: "unknown or revoked key"})
		}
	})
}

func BenchmarkFloodOfWrongKeys(b *testing.B) {
	m, now, i := NewMetrics(), time.Now(), 0
	for b.Loop() {
		i++
		m.Deny(now, Refusal{Unknown: true, From: fmt.Sprint(i % 10_000), What: "POST /mcp", Why: "unknown or revoked key"})
	}
}
