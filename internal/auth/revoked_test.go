package auth

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const revokedAnswer = `401 UNAUTHENTICATED , error="invalid_token"`

// The gate reports the holders whose keys a key file in use has lost or got again, and not those of another file or of the
// first one that it reads.
func TestLostAndFoundKeys(t *testing.T) {
	d := newTestGate(t)
	var reported []string
	report := func(mark string) func([]string) {
		return func(holders []string) {
			for _, h := range holders {
				name, _, _ := strings.Cut(strings.TrimPrefix(h, "key:"), "@")
				reported = append(reported, mark+name)
			}
			slices.Sort(reported)
		}
	}
	d.Gate.options.Lost, d.Gate.options.Found = report("-"), report("+")
	expect := func(when, want string) {
		t.Helper()
		if got := strings.Join(reported, " "); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		reported = nil
	}
	d.issue(Key{Name: "a"})
	d.issue(Key{Name: "b"})
	d.configure(Settings{})
	expect("first read", "")
	whole, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(d.path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = d.Reload()
	}
	d.issue(Key{Name: "c"})
	_ = d.Reload()
	expect("a new key", "+c")
	write(whole)
	expect("an older file", "-c")
	write([]byte("{"))
	expect("an unreadable file", "")
	write([]byte("# no keys\n"))
	expect("an empty file", "-a -b")
	write(whole)
	expect("the file put back", "+a +b")
	first := d.path
	d.path = first + ".other"
	d.issue(Key{Name: "x"})
	d.configure(Settings{})
	expect("another file", "")
	d.path = first
	if err := d.Configure(Settings{}); err != nil {
		t.Fatal(err)
	}
	expect("no file", "")
	d.configure(Settings{})
	expect("the first file again", "")
}

// A revoked holder is not admitted, although the key file has its key, until it is no longer revoked. A new key of the
// same name is another holder.
func TestAttackRevokedKeyInTheFile(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "ci"})
	other := d.issue(Key{Name: "dev"})
	d.configure(Settings{})
	holder := d.Admit(request("Bearer " + key)).Principal.Holder
	d.reportedChanges()
	d.Revoke(map[string]bool{holder: true, "key:unknown@0123456789abcdef": true})
	if got := d.reportedChanges(); got != "-key:ci" {
		t.Errorf("reported %q", got)
	}
	expect := func(when, text, want string) {
		t.Helper()
		if got := d.answer(request("Bearer " + text)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	expect("revoked", key, revokedAnswer)
	expect("another key", other, "key:dev")
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	expect("after a reload", key, revokedAnswer)
	if err := d.Configure(Settings{Keys: d.path, Rights: func([]string, string, bool) string { return "r" }}); err != nil {
		t.Fatal(err)
	}
	expect("with other settings", key, revokedAnswer)
	d.reportedChanges()
	d.Revoke(map[string]bool{})
	if got := d.reportedChanges(); got != "+key:cir" {
		t.Errorf("reported %q", got)
	}
	expect("restored", key, "key:ci")
	d.Revoke(map[string]bool{holder: true})
	if err := Revoke(d.path, "ci"); err != nil {
		t.Fatal(err)
	}
	again := d.issue(Key{Name: "ci"})
	if err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	expect("a new key of that name", again, "key:ci")
	expect("the old one", key, revokedAnswer)
}

// A key that is revoked before the key file is read is never admitted.
func TestRevokedBeforeTheFirstRead(t *testing.T) {
	d := newTestGate(t)
	key := d.issue(Key{Name: "ci"})
	keys, err := Load(d.path)
	if err != nil {
		t.Fatal(err)
	}
	d.Revoke(map[string]bool{holderOf(&keys[0]): true})
	d.configure(Settings{})
	if got := d.answer(request("Bearer " + key)); got != revokedAnswer {
		t.Errorf("%s", got)
	}
}

// The digest depends on every field of every key that matters, and not on the order.
func TestFileDigest(t *testing.T) {
	digest := func(keys ...Key) string {
		g := NewGate(Options{})
		g.file = keyFile{"keys.yaml", keys, true}
		return g.FileDigest()
	}
	a, b := Key{Name: "a", Sum: Sum{1}, Roles: []string{"r"}, Projects: []string{"p"}, Expires: time.Unix(5, 0)}, Key{Name: "b", Sum: Sum{2}}
	want := digest(a, b)
	if digest(b, a) != want || NewGate(Options{}).FileDigest() != "" || len(want) != 16 {
		t.Error("digests of equal files differ")
	}
	seen := map[string]int{want: -1, digest(a): -2, digest(): -3}
	for i, change := range []func(*Key){
		func(k *Key) { k.Name = "c" }, func(k *Key) { k.Sum[31] = 1 }, func(k *Key) { k.Roles = nil }, func(k *Key) { k.Projects = nil },
		func(k *Key) { k.Projects = []string{} }, func(k *Key) { k.Projects = []string{"p", "q"} }, func(k *Key) { k.Expires = time.Time{} },
	} {
		c := a
		change(&c)
		of := digest(c, b)
		if same, known := seen[of]; known {
			t.Errorf("change %d has the digest of %d", i, same)
		}
		seen[of] = i
	}
}
