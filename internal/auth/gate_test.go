package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// testGate is a gate with a key file. It records what the gate reports.
type testGate struct {
	*Gate
	t       testing.TB
	path    string
	mu      sync.Mutex
	changed []string
	denied  []Denial
	log     gatetest.Output
	read    int // bytes of log that logged has returned
}

// logged returns the log output since the last call.
func (d *testGate) logged() string {
	all := d.log.String()
	fresh := all[d.read:]
	d.read = len(all)
	return fresh
}

func newTestGate(t testing.TB) *testGate {
	d := &testGate{t: t, path: filepath.Join(t.TempDir(), "keys.yaml")}
	d.Gate = NewGate(Options{
		Log: slog.New(slog.NewTextHandler(&d.log, nil)),
		Changed: func(principals map[string]*identity.Principal) {
			d.mu.Lock()
			defer d.mu.Unlock()
			for id, who := range principals {
				if who == nil {
					d.changed = append(d.changed, "-"+id)
				} else {
					d.changed = append(d.changed, "+"+id+who.Rights)
				}
			}
		},
		Denied: func(denial Denial) { d.denied = append(d.denied, denial) },
	})
	t.Cleanup(d.Close)
	return d
}

// reportedChanges returns the changes to principals since the last call: +, the id and the rights, or - and the id.
func (d *testGate) reportedChanges() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := strings.Join(d.changed, " ")
	d.changed = nil
	return text
}

func (d *testGate) issue(k Key) string {
	d.t.Helper()
	text, sum := NewKey()
	k.Sum = sum
	if err := Add(d.path, k); err != nil {
		d.t.Fatal(err)
	}
	return text
}

func (d *testGate) configure(s Settings) {
	d.t.Helper()
	s.Keys = d.path
	if err := d.Configure(s); err != nil {
		d.t.Fatal(err)
	}
}

func request(authorization string) *downstream.Request {
	r := &downstream.Request{Method: []byte("POST"), Path: []byte("/mcp"), Peer: netip.MustParseAddrPort("127.0.0.1:4000")}
	if authorization != "" {
		r.Authorization, r.Authorizations = []byte(authorization), 1
	}
	return r
}

// answer admits a request, releases its lease, and returns the principal's id or the refusal as text.
func (d *testGate) answer(r *downstream.Request) string {
	a := d.Admit(r)
	if a.Lease != nil {
		a.Lease.Release()
	}
	if a.Refusal != nil {
		return strings.TrimSpace(fmt.Sprint(a.Refusal.Status, " ", a.Refusal.Fault.Name, " ", strings.TrimPrefix(a.Refusal.Challenge, challenge)))
	}
	return a.Principal.ID
}

func TestAdmit(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "ci", Roles: []string{"Reader"}, Projects: []string{"Alpha Beta"[:5]}})
	old := d.issue(Key{Name: "old", Expires: time.Now().Add(-time.Second)})
	d.configure(Settings{Rights: func(roles []string, key string, local bool) string { return fmt.Sprint(roles, key, local) }})
	other, _ := NewKey()
	const noKey, wrong, malformed = "401 UNAUTHENTICATED", `401 UNAUTHENTICATED , error="invalid_token"`, `400 INVALID_REQUEST , error="invalid_request"`
	for _, c := range []struct {
		authorization, query string
		want                 string
	}{
		{"", "", noKey},
		{"Basic dXNlcjpwYXNz", "", noKey},
		{"Bearer " + key, "", "key:ci"},
		{"bearer   " + key, "", "key:ci"},
		{"BEARER " + key, "x=access_token", "key:ci"},
		{"Bearer " + other, "", wrong},
		{"Bearer " + old, "", `401 UNAUTHENTICATED , error="invalid_token", error_description="expired"`},
		{"Bearer x", "", wrong},
		{"Bearer", "", malformed},
		{"Bearer ", "", malformed},
		{"Bearer a b", "", malformed},
		{"Bearer " + key + " ", "", malformed},
		{"Bearer " + key + ",Bearer " + key, "", malformed},
		{"Bearer ==", "", malformed},
		{"Bearer " + key, "a=b&access_token=x", malformed},
		{"", "access%5ftoken=x", malformed},
	} {
		r := request(c.authorization)
		r.Query = []byte(c.query)
		if got := d.answer(r); got != c.want {
			t.Errorf("%q ?%s: got %s, want %s", c.authorization, c.query, got, c.want)
		}
	}
	a := d.Admit(request("Bearer " + key))
	if a.Principal.Name != "ci" || a.Principal.Via != identity.ViaKey || a.Principal.Rights != "[reader]cifalse" || fmt.Sprint(a.Principal.Projects) != "[alpha]" {
		t.Errorf("principal of key ci: %+v", a.Principal)
	}
	for _, secret := range []string{key, other, old, "dXNlcjpwYXNz", key[4:20]} {
		if strings.Contains(d.log.String(), secret) {
			t.Errorf("the log contains the credential %q", secret)
		}
	}
	if len(d.denied) == 0 || d.denied[0].Status == 0 || d.denied[0].Peer != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("first denial: %+v, want a status and the peer 127.0.0.1", d.denied)
	}
}

// Reload applies and reports the changes in the file. A file that cannot be read changes nothing.
func TestReload(t *testing.T) {
	d := newTestGate(t)
	if err := d.Configure(Settings{Keys: d.path}); !errors.Is(err, os.ErrNotExist) || !d.ChecksAll() {
		t.Fatalf("without a file: got %v, ChecksAll %v; want ErrNotExist, true", err, d.ChecksAll())
	}
	a, b := d.issue(Key{Name: "a"}), d.issue(Key{Name: "b"})
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := d.reportedChanges(); got != "+key:a +key:b" && got != "+key:b +key:a" {
		t.Errorf("Changed was called with %q, want both keys", got)
	}
	who := d.Admit(request("Bearer " + a)).Principal
	if err := Revoke(d.path, "b"); err != nil {
		t.Fatal(err)
	}
	if err := d.Reload(); err != nil || d.reportedChanges() != "-key:b" {
		t.Errorf("Reload after Revoke: %v", err)
	}
	if d.Admit(request("Bearer "+a)).Principal != who {
		t.Error("an unchanged key has a new *Principal after a reload")
	}
	if err := os.WriteFile(d.path, []byte("oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Reload(); err == nil || d.reportedChanges() != "" {
		t.Error("Reload accepted a broken file")
	}
	if got := d.answer(request("Bearer " + a)); got != "key:a" {
		t.Errorf("key a after a broken file: got %s", got)
	}
	if err := os.Remove(d.path); err != nil {
		t.Fatal(err)
	}
	fresh := d.issue(Key{Name: "a"})
	if err := d.Reload(); err != nil || d.reportedChanges() != "-key:a +key:a" {
		t.Error("a new key of the same name must be reported as removed and added:", err)
	}
	if identity.Same(who, d.Admit(request("Bearer "+fresh)).Principal) {
		t.Error("a new key of the same name has the same identity as the old one")
	}
	if d.answer(request("Bearer "+fresh)) != "key:a" || d.answer(request("Bearer "+b)) == "key:b" {
		t.Error("Reload did not apply the new file")
	}
	if err := d.Configure(Settings{}); err != nil || d.ChecksAll() {
		t.Error(err)
	}
	if got := d.reportedChanges(); got != "-key:a" {
		t.Errorf("Changed was called with %q, want a removal of key:a", got)
	}
}

// meaning is a policy that is compared by its text.
type meaning string

func (meaning) Reports() bool { return false }

func TestChangedRightsAreReported(t *testing.T) {
	d := newTestGate(t)
	d.issue(Key{Name: "a"})
	rights := "[x]"
	s := Settings{Rights: func([]string, string, bool) string { return rights }}
	d.configure(s)
	d.reportedChanges()
	rights = "[y]"
	d.configure(s)
	if got := d.reportedChanges(); got != "+key:a[y]" {
		t.Errorf("Changed was called with %q, want key:a with [y]", got)
	}
	for i, want := range []string{"+key:a[y]", ""} { // equal rights, but under a policy that may interpret them differently
		d.configure(Settings{Rights: s.Rights, Policy: meaning("other")})
		if got := d.reportedChanges(); got != want {
			t.Errorf("another policy, %d: Changed was called with %q, want %q", i, got, want)
		}
	}
	if err := os.WriteFile(d.path, []byte("oops"), 0o600); err != nil { // the previous keys stay, with the rights of the new settings
		t.Fatal(err)
	}
	rights, s.Keys = "[z]", d.path
	if err := d.Configure(s); err == nil {
		t.Error("Configure accepted a broken file")
	}
	if got := d.reportedChanges(); got != "+key:a[z]" {
		t.Errorf("new settings with a broken file: Changed was called with %q, want key:a with [z]", got)
	}
}

// A key is valid until exactly its expiry time, and its expiry is reported then.
func TestExpiry(t *testing.T) {
	d := newTestGate(t) // outside the bubble: its file operations take real time
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		first := d.issue(Key{Name: "first", Expires: now.Add(90 * time.Second)})
		d.issue(Key{Name: "second", Expires: now.Add(3 * time.Hour)})
		d.issue(Key{Name: "third"})
		d.configure(Settings{})
		defer d.Close()
		d.reportedChanges()
		time.Sleep(90*time.Second - 1)
		synctest.Wait()
		if got := d.answer(request("Bearer " + first)); got != "key:first" || d.reportedChanges() != "" {
			t.Errorf("a nanosecond before expiry: got %s, want key:first and no report", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := d.answer(request("Bearer " + first)); !strings.HasPrefix(got, "401") {
			t.Errorf("at the expiry time: got %s, want 401", got)
		}
		if got := d.reportedChanges(); got != "-key:first" {
			t.Errorf("Changed was called with %q, want a removal of key:first", got)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if got := d.reportedChanges(); got != "-key:second" {
			t.Errorf("Changed was called with %q, want a removal of key:second", got)
		}
		time.Sleep(time.Hour)
		if err := d.Reload(); err != nil || d.reportedChanges() != "" {
			t.Error("an expired key was reported again:", err)
		}
	})
}

// BenchmarkReload reloads a file of 10 000 keys. The target is at most 50 ms.
func BenchmarkReload(b *testing.B) {
	d := newTestGate(b)
	var text strings.Builder
	for i := range 10_000 {
		_, sum := NewKey()
		k := Key{Name: fmt.Sprintf("key-%d", i), Sum: sum, Roles: []string{"reader", "ops"}, Projects: []string{"alpha"}, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
		text.WriteString(k.line())
	}
	if err := os.WriteFile(d.path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	d.configure(Settings{})
	for b.Loop() {
		if err := d.Reload(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	d := newTestGate(b)
	r := request("Bearer " + d.issue(Key{Name: "a"}))
	d.configure(Settings{MaxCalls: 10})
	b.ReportAllocs()
	for b.Loop() {
		d.Admit(r).Lease.Release()
	}
}

// New principals are reported before they are admitted, and removed ones before their requests fail. A list built from
// the reports therefore contains every admitted principal. A key that is recreated under the same name is another
// principal with the same id.
func TestChangesAreReportedBeforeTheyApply(t *testing.T) {
	d := newTestGate(t)
	var asks func() string
	var seen []string
	d.options.Added = func(come map[string]*identity.Principal) {
		seen = append(seen, fmt.Sprint("come ", len(come), " ", asks()))
	}
	d.options.Changed = func(changed map[string]*identity.Principal) {
		seen = append(seen, fmt.Sprint("changed ", len(changed), " ", asks()))
	}
	first := d.issue(Key{Name: "ci"})
	asks = func() string { return "" }
	d.configure(Settings{})
	var holder string
	d.Known(func(all, expired map[string]*identity.Principal) {
		if len(all) != 1 || len(expired) != 0 {
			t.Errorf("Known: got %v, expired %v, want one key, none expired", all, expired)
		}
		holder = identity.HolderOf(all["key:ci"])
	})
	if err := Revoke(d.path, "ci"); err != nil {
		t.Fatal(err)
	}
	second := d.issue(Key{Name: "ci"})
	seen, asks = nil, func() string {
		return d.answer(request("Bearer " + first))[:3] + " " + d.answer(request("Bearer " + second))[:3]
	}
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(append(seen, "then "+asks()), "; "), "changed 1 key 401; come 1 key 401; then 401 key"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	d.issue(Key{Name: "old", Expires: time.Now().Add(-time.Second)})
	asks = func() string { return "" }
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	d.Known(func(all, expired map[string]*identity.Principal) {
		if _, is := expired["key:old"]; len(all) != 2 || len(expired) != 1 || !is || all["key:old"] == nil {
			t.Errorf("Known: got %v, expired %v, want ci and old, old expired", all, expired)
		}
		if now := all["key:ci"]; identity.HolderOf(now) == holder || identity.IDIn(identity.HolderOf(now)) != "key:ci" {
			t.Errorf("a recreated key has the holder %s of the old key", holder)
		}
	})
}
