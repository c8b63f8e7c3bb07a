package cluster

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
)

const home = "abcdefg2"

// secretsOf returns secrets with values of 32 bytes that differ in their first character.
func secretsOf(t testing.TB, first string) *Secrets {
	t.Helper()
	var values []string
	for _, c := range first {
		values = append(values, string(c)+strings.Repeat("x", MinSecret-1))
	}
	s, err := NewSecrets(values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func facts() SessionFacts {
	return SessionFacts{Version: "2025-11-25", Path: "/p/alpha/mcp", Project: "alpha", Holder: "key:ci@0123456789abcdef",
		Capabilities: []byte(`{"sampling":{}}`), Info: []byte(`{"name":"c","version":"1"}`)}
}

// Every node that knows the secret reads the home and the facts from a session id, except for capabilities and
// clientInfo if one of them is too long.
func TestSessionIDs(t *testing.T) {
	long := facts()
	long.Info = []byte(`{"name":"` + strings.Repeat("n", MaxDeclared) + `"}`)
	partial := long
	partial.Capabilities, partial.Info, partial.Partial = nil, nil, true
	largest := SessionFacts{Capabilities: []byte(strings.Repeat("c", MaxDeclared)), Info: []byte(strings.Repeat("i", MaxDeclared))}
	for _, fact := range []*string{&largest.Version, &largest.Path, &largest.Project, &largest.Server, &largest.Holder} {
		*fact = strings.Repeat("f", maxFact)
	}
	for name, c := range map[string]struct{ sealed, want SessionFacts }{
		"usual":   {facts(), facts()},
		"empty":   {SessionFacts{}, SessionFacts{}},
		"long":    {long, partial},
		"largest": {largest, largest},
	} {
		id, err := secretsOf(t, "a").SealSession(home, &c.sealed)
		if err != nil || len(id) > MaxSessionID {
			t.Fatalf("%s: %q, %v", name, id, err)
		}
		incarnation, got, err := secretsOf(t, "ba").OpenSession(id)
		if err != nil || incarnation != home || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v of %s, %v; want %+v", name, got, incarnation, err, c.want)
		}
	}
	usual := facts()
	id, _ := secretsOf(t, "a").SealSession(home, &usual)
	if other, _ := secretsOf(t, "a").SealSession(home, &usual); id[:8] == other[:8] {
		t.Errorf("two sessions are shown as %s", id[:8])
	}
	if len(id) < 150 || len(id) > 250 {
		t.Errorf("a usual id has %d characters, want 150 to 250", len(id))
	}
	usual.Path = strings.Repeat("p", maxFact+1)
	if _, err := secretsOf(t, "a").SealSession(home, &usual); err != ErrLongFact {
		t.Errorf("a long path: %v", err)
	}
}

// An id that was changed in any way, or that another cluster has sealed, is no session id.
func TestForeignSessionIDs(t *testing.T) {
	s, f := secretsOf(t, "a"), facts()
	id, err := s.SealSession(home, &f)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(id string) {
		t.Helper()
		if incarnation, got, err := s.OpenSession(id); err != ErrNoSession || incarnation != "" || !reflect.DeepEqual(got, SessionFacts{}) {
			t.Errorf("%.20q was opened: %+v of %q, %v", id, got, incarnation, err)
		}
	}
	if _, _, err := secretsOf(t, "b").OpenSession(id); err != ErrNoSession {
		t.Errorf("with another secret: %v", err)
	}
	sealed, _ := base64.RawURLEncoding.DecodeString(id[1:])
	for i := range sealed {
		sealed[i] ^= 1
		refused(sessionFormat + base64.RawURLEncoding.EncodeToString(sealed))
		sealed[i] ^= 1
		refused(sessionFormat + base64.RawURLEncoding.EncodeToString(sealed[:i]))
	}
	for _, bad := range []string{"", "2", "1" + id[1:], id[1:], id + "A", id + "=", id + "\n", id + "\r\n", strings.Repeat(id, 100), "2" + strings.Repeat("A", 100<<10)} {
		refused(bad)
	}
}

// No character of a session id can be replaced, whatever the length of the id.
func TestAttack102ChangedSessionID(t *testing.T) {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	s := secretsOf(t, "a")
	for _, holder := range []string{"h", "hh", "hhh"} {
		id, err := s.SealSession(home, &SessionFacts{Version: "2025-11-25", Path: "/mcp", Holder: holder})
		if err != nil {
			t.Fatal(err)
		}
		for i := range id {
			for _, c := range []byte(characters + " =\n\x00") {
				if changed := id[:i] + string(rune(c)) + id[i+1:]; changed != id {
					if _, _, err := s.OpenSession(changed); err != ErrNoSession {
						t.Errorf("character %d of %d replaced by %q: %v", i, len(id), c, err)
					}
				}
			}
		}
	}
}

// Facts of an unknown version, and facts that do not fill their text exactly, are refused.
func TestMalformedFacts(t *testing.T) {
	f := facts()
	good := f.encode()
	for name, b := range map[string][]byte{
		"empty": {}, "version": append([]byte{factsVersion + 1}, good[1:]...), "flag": append([]byte{factsVersion, 2}, good[2:]...),
		"truncated": good[:len(good)-1], "longer": append(good[:len(good):len(good)], 0), "length": {factsVersion, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"partial with declared facts": append([]byte{factsVersion, 1}, good[2:]...),
	} {
		var got SessionFacts
		if err := got.decode(b); err == nil || !reflect.DeepEqual(got, SessionFacts{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzFacts(f *testing.F) {
	usual := facts()
	f.Add(usual.encode())
	f.Add((&SessionFacts{}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, again SessionFacts
		if got.decode(b) != nil {
			return
		}
		if len(got.Capabilities) > MaxDeclared || len(got.Info) > MaxDeclared {
			return // encode would leave them out
		}
		if err := again.decode(got.encode()); err != nil || !reflect.DeepEqual(got, again) {
			if got.Partial {
				return // the same facts without the mark
			}
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
	})
}

func FuzzSessionID(f *testing.F) {
	s, usual := secretsOf(f, "ab"), facts()
	id, err := s.SealSession(home, &usual)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id)
	f.Add(id[:len(id)-1])
	f.Fuzz(func(t *testing.T, text string) {
		if _, got, err := s.OpenSession(text); err == nil && !reflect.DeepEqual(got, usual) {
			t.Errorf("%q was opened: %+v", text, got)
		}
	})
}

func BenchmarkOpenSession(b *testing.B) {
	s, f := secretsOf(b, "a"), facts()
	id, err := s.SealSession(home, &f)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.OpenSession(id); err != nil {
			b.Fatal(err)
		}
	}
}
