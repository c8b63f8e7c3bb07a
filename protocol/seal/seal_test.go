package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	testKey = [32]byte{1, 2, 3}
	testNow = time.UnixMilli(1_800_000_000_000)
)

func testState() State {
	return State{
		Kind: Relayed, Call: 1 << 40, Actor: 3, Node: "node-a", Server: "files", Replica: 2, Principal: "anna", Project: "alpha", Method: "tools/call",
		Digest: Digest("tools/call", []byte(`"read"`), []byte(`{"a":1}`)), Round: 2, Expiry: testNow.Add(5 * time.Minute), Inner: []byte(`"their own"`),
	}
}

func same(a, b State) bool {
	equal := a.Expiry.Equal(b.Expiry) && bytes.Equal(a.Inner, b.Inner)
	a.Expiry, b.Expiry, a.Inner, b.Inner = time.Time{}, time.Time{}, nil, nil
	return equal && fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

func mustSeal(t testing.TB, s *Sealer, v State) string {
	t.Helper()
	text, err := s.Seal(&v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRoundTrip(t *testing.T) {
	s := New(testKey)
	states := []State{testState(), {Kind: Parked, Expiry: testNow.Add(time.Millisecond)}}
	large := testState()
	large.Inner = bytes.Repeat([]byte("x"), MaxInner)
	large.Principal = strings.Repeat("p", maxName)
	large.Node, large.Server, large.Method, large.Project = large.Principal, large.Principal, large.Principal, large.Principal
	for i, v := range append(states, large) {
		got, err := s.Open(mustSeal(t, s, v), testNow)
		if err != nil || !same(got, v) {
			t.Errorf("state %d: got %+v, %v", i, got, err)
		}
	}
	if a, b := mustSeal(t, s, states[0]), mustSeal(t, s, states[0]); a == b {
		t.Error("two seals are equal: the nonce is not random")
	}
}

func TestTooLarge(t *testing.T) {
	for i, change := range []func(*State){
		func(v *State) { v.Inner = make([]byte, MaxInner+1) },
		func(v *State) { v.Principal = strings.Repeat("x", maxName+1) },
		func(v *State) { v.Node = strings.Repeat("x", maxName+1) },
	} {
		v := testState()
		change(&v)
		if text, err := New(testKey).Seal(&v); err != ErrTooLarge || text != "" {
			t.Errorf("case %d: %d bytes, %v", i, len(text), err)
		}
	}
}

// Malformed, changed, foreign and expired states are refused, each kind with its own error.
func TestOpenRefuses(t *testing.T) {
	s := New(testKey)
	good := mustSeal(t, s, testState())
	flip := func(at int) string {
		b, _ := base64.RawURLEncoding.DecodeString(good)
		b[(at+len(b))%len(b)] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	cases := []struct {
		name, text string
		now        time.Time
		want       error
	}{
		{"empty", "", testNow, ErrMalformed},
		{"text", "hello, world!", testNow, ErrMalformed},
		{"padded", good + "=", testNow, ErrMalformed},
		{"newline", good[:8] + "\n" + good[8:], testNow, ErrMalformed},
		{"a few bytes", good[:12], testNow, ErrMalformed},
		{"cut off", good[:len(good)/4*2], testNow, ErrTampered},
		{"huge", strings.Repeat("A", MaxText+1), testNow, ErrMalformed},
		{"another version", flip(0), testNow, ErrMalformed},
		{"another key id", flip(2), testNow, ErrForeign},
		{"another nonce", flip(6), testNow, ErrTampered},
		{"another text", flip(40), testNow, ErrTampered},
		{"another tag", flip(-1), testNow, ErrTampered},
		{"another key", mustSeal(t, New([32]byte{9}), testState()), testNow, ErrForeign},
		{"a nanosecond left", good, testNow.Add(5*time.Minute - 1), nil},
		{"expired", good, testNow.Add(5 * time.Minute), ErrExpired},
		{"long expired", good, testNow.Add(time.Hour), ErrExpired},
	}
	for _, c := range cases {
		if _, err := s.Open(c.text, c.now); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	v := testState()
	cases := []struct {
		principal, method, name, arguments string
		want                               error
	}{
		{"anna", "tools/call", `"read"`, `{"a":1}`, nil},
		{"anna", "tools/call", `"r\u0065ad"`, ` { "a" : 1 } `, nil},
		{"bert", "tools/call", `"read"`, `{"a":1}`, ErrPrincipal},
		{"", "tools/call", `"read"`, `{"a":1}`, ErrPrincipal},
		{"anna", "prompts/get", `"read"`, `{"a":1}`, ErrRequest},
		{"anna", "tools/call", `"write"`, `{"a":1}`, ErrRequest},
		{"anna", "tools/call", `"read"`, `{"a":2}`, ErrRequest},
		{"anna", "tools/call", `"read"`, `{"a":1,"b":null}`, ErrRequest},
	}
	for _, c := range cases {
		digest := Digest(c.method, []byte(c.name), []byte(c.arguments))
		if err := v.Check(c.principal, "alpha", c.method, digest); err != c.want {
			t.Errorf("Check(%q, %q) of %s %s: %v, want %v", c.principal, c.method, c.name, c.arguments, err, c.want)
		}
		for _, project := range []string{"", "beta"} {
			if err := v.Check("anna", project, c.method, digest); err != ErrProject {
				t.Errorf("in project %q: %v", project, err)
			}
		}
	}
}

// For any text: no panic, and only a state that was sealed with this key can be opened.
func FuzzOpen(f *testing.F) {
	s := New(testKey)
	v := testState()
	good := mustSeal(f, s, v)
	for _, text := range []string{"", good, good[:30], good + "A", mustSeal(f, New([32]byte{}), v), "AQ"} {
		f.Add(text, []byte(text))
	}
	f.Fuzz(func(t *testing.T, text string, inner []byte) {
		if got, err := s.Open(text, testNow); err == nil && !same(got, v) {
			t.Fatalf("Open(%q) = %+v", text, got)
		}
		var read State
		if read.read(inner) { // as if the key were known
			if again := read.appendTo(nil); !same(reread(t, again), read) {
				t.Fatalf("%x reads as %+v and is written as %x", inner, read, again)
			}
		}
		mine := v
		mine.Inner, mine.Principal = inner, text
		if len(inner) == 0 {
			mine.Inner = nil
		}
		sealed, err := s.Seal(&mine)
		if err != nil {
			return
		}
		if got, err := s.Open(sealed, testNow); err != nil || !same(got, mine) {
			t.Fatalf("%+v: %+v, %v", mine, got, err)
		}
	})
}

func reread(t *testing.T, b []byte) State {
	t.Helper()
	var v State
	if !v.read(b) {
		t.Fatalf("%x cannot be read", b)
	}
	return v
}

func BenchmarkSeal(b *testing.B) {
	s, v := New(testKey), testState()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Seal(&v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	s := New(testKey)
	text := mustSeal(b, s, testState())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(text, testNow); err != nil {
			b.Fatal(err)
		}
	}
}

// A principal's tag for a task is always the same. It differs if any of the texts differs or if they are split elsewhere.
func TestTaskTag(t *testing.T) {
	s, seen := New(testKey), map[string]string{}
	for _, texts := range [][3]string{{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}, {"b", "a", "c"}} {
		tag := s.TaskTag(texts[0], texts[1], texts[2])
		if tag != s.TaskTag(texts[0], texts[1], texts[2]) || len(tag) != 22 || strings.ContainsAny(tag, "~/+=") {
			t.Errorf("%q: %q", texts, tag)
		}
		if other, taken := seen[tag]; taken {
			t.Errorf("%q has the tag of %s", texts, other)
		}
		seen[tag] = fmt.Sprintf("%q", texts)
	}
	if New([32]byte{9}).TaskTag("a", "b", "c") == s.TaskTag("a", "b", "c") {
		t.Error("two keys give the same tag")
	}
}
