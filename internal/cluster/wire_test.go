package cluster

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const other = "bbbbbbb2"

func usualBeat() *Beat {
	return &Beat{
		Head: Head{Cluster: "prod", Node: "goblin-0", Incarnation: home, Speaks: Spoken, Version: "1.4.0"}, Address: "10.0.0.1:8731",
		Seq: 17, Round: 16, Since: 1767225600000, Time: 1767225603400, Config: "6f1c000000000000", Keys: "03aa000000000000", Revoked: "0000000000000000",
		Generations: []uint64{3, 1, 1, 0},
	}
}

// largestBeat returns a beat with as much in it as a node accepts. Its texts are as long as possible when encoded.
func largestBeat() *Beat {
	text := func(n int) string { return strings.Repeat(`"`, n) }
	b := usualBeat()
	b.Cluster, b.Node, b.Version, b.Address = text(MaxName), text(MaxName), text(maxText), text(maxAddress)
	b.Seq, b.Round, b.Since, b.Time, b.Joining, b.Draining, b.Leaving = 1<<64-1, 1<<64-1, 1<<62, 1<<62, true, true, true
	b.Config, b.Keys, b.Revoked = text(maxText), text(maxText), text(maxText)
	for range MaxFormer {
		b.Former = append(b.Former, other)
	}
	b.Generations = nil
	for range maxGenerations {
		b.Generations = append(b.Generations, 1<<64-1)
	}
	for range maxRuns {
		b.Runs = append(b.Runs, text(maxRunName))
	}
	for range MaxSpent {
		b.Spent = append(b.Spent, Spending{text(maxSpender), text(maxRate), []int{maxSpent, maxSpent, maxSpent, maxSpent, maxSpent}})
	}
	return b
}

// Every message survives encoding and decoding. A usual beat has a few hundred bytes, and the largest one fits.
func TestMessages(t *testing.T) {
	for name, b := range map[string]*Beat{"usual": usualBeat(), "largest": largestBeat()} {
		got, err := ParseBeat(b.Encode())
		if err != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, b)
		}
	}
	if n := len(usualBeat().Encode()); n > 400 {
		t.Errorf("a usual beat has %d bytes", n)
	}
	v := &Verdict{Cluster: "prod", By: other, Node: "a", Incarnation: home, Reason: ReasonSilent}
	if got, err := ParseVerdict(v.Encode()); err != nil || *got != *v {
		t.Errorf("%+v, %v", got, err)
	}
	h := &Hint{Cluster: "prod", From: home, Kind: HintCancel, Session: "2abc", Holder: "key:a", Request: json.RawMessage(`"7"`)}
	hint, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseHint(hint); err != nil || !reflect.DeepEqual(got, h) {
		t.Errorf("%+v, %v", got, err)
	}
	list := make([]Revocation, MaxRevocations)
	for i := range list {
		list[i] = Revocation{strings.Repeat(`"`, MaxHolder), 1<<64 - 1, true, maxAge}
	}
	r := &Revocations{Cluster: "prod", From: home, List: list}
	if got, err := ParseRevocations(r.Encode()); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v", got, err)
	}
	q := &Query{Cluster: "prod", From: home, Kind: QueryRevocations, After: "key:a", Session: "2abc", Holder: "key:b"}
	if got, err := ParseQuery(q.Encode()); err != nil || *got != *q {
		t.Errorf("%+v, %v", got, err)
	}
	a := &Answer{Revocations: *r, Joining: true, More: true, Digest: "00", Session: SessionLives, Level: "info"}
	if got, err := ParseAnswer(a.Encode()); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v", got, err)
	}
	ended := &Answer{Revocations: Revocations{Cluster: "prod", From: home}, Next: strings.Repeat(`"`, maxText)}
	for range MaxEnded {
		ended.Ended = append(ended.Ended, EndedSession{strings.Repeat("_", EndedKeyLength), maxAge})
	}
	if got, err := ParseAnswer(ended.Encode()); err != nil || !reflect.DeepEqual(got, ended) {
		t.Errorf("%+v, %v", got, err)
	}
	part := &Answer{Revocations: Revocations{Cluster: "prod", From: home}, Next: strings.Repeat(`"`, MaxHolder)}
	part.Catalog = &CatalogPart{Server: strings.Repeat(`"`, MaxName), Offset: MaxCatalog - MaxCatalogPart, Size: MaxCatalog, Data: make([]byte, MaxCatalogPart)}
	if got, err := ParseAnswer(part.Encode()); err != nil || !reflect.DeepEqual(got, part) || !got.Catalog.Last() {
		t.Errorf("%v, %v", got, err)
	}
	part.Catalog.Offset++
	if _, err := ParseAnswer(part.Encode()); err == nil {
		t.Error("a part beyond the end of a catalog is accepted")
	}
	m := &AuditMark{Cluster: "prod", From: home, Key: strings.Repeat("k", 44), Line: `{"n":1,"sig":"<&>"}`}
	if got, err := ParseAuditMark(m.Encode()); err != nil || *got != *m {
		t.Errorf("%+v, %v", got, err)
	}
}

// Lists beyond their limits are cut by the encoder and refused by the decoder, and invalid fields are refused.
func TestInvalidMessages(t *testing.T) {
	long := largestBeat()
	long.Former, long.Runs, long.Spent = append(long.Former, other), append(long.Runs, "x"), append(long.Spent, Spending{Principal: "x"})
	if _, err := ParseBeat(long.Encode()); err != nil {
		t.Errorf("a beat with long lists: %v", err)
	}
	for what, c := range map[string]func(*Beat){
		"cluster": func(b *Beat) { b.Cluster = "" }, "node": func(b *Beat) { b.Node = "a\nb" }, "incarnation": func(b *Beat) { b.Incarnation = "x" },
		"speaks": func(b *Beat) { b.Speaks = Versions{2, 1} }, "version": func(b *Beat) { b.Version = strings.Repeat("x", maxText+1) },
		"address": func(b *Beat) { b.Address = "" }, "config": func(b *Beat) { b.Config = "\x00" }, "keys": func(b *Beat) { b.Keys = "\x00" },
		"revoked": func(b *Beat) { b.Revoked = "\x00" }, "former": func(b *Beat) { b.Former = []string{home} }, "runs": func(b *Beat) { b.Runs = []string{""} },
		"spent": func(b *Beat) { b.Spent = []Spending{{"a", "1/s", []int{-1}}} },
	} {
		b := usualBeat()
		c(b)
		if _, err := ParseBeat(b.Encode()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, message := range []string{"", "{", "[]", "{}", `{"cluster":"a","seq":-1}`, `{"cluster":"` + strings.Repeat("x", MaxMessage) + `"}`} {
		for name, parse := range parsers {
			if err := parse([]byte(message)); err == nil {
				t.Errorf("%s accepts %.20q", name, message)
			}
		}
	}
	if _, err := (&Hint{Cluster: "a", From: home, Kind: HintCancel, Request: []byte("{")}).Encode(); err == nil {
		t.Error("a hint with an invalid request id is encoded")
	}
}

// parsers are the decoders of all messages.
var parsers = map[string]func([]byte) error{
	"beat":        func(b []byte) error { _, err := ParseBeat(b); return err },
	"verdict":     func(b []byte) error { _, err := ParseVerdict(b); return err },
	"hint":        func(b []byte) error { _, err := ParseHint(b); return err },
	"revocations": func(b []byte) error { _, err := ParseRevocations(b); return err },
	"query":       func(b []byte) error { _, err := ParseQuery(b); return err },
	"answer":      func(b []byte) error { _, err := ParseAnswer(b); return err },
	"audit mark":  func(b []byte) error { _, err := ParseAuditMark(b); return err },
}

// Fields that a newer version adds to a message are ignored. If a node speaks no version that this one speaks, only the head
// of its beat is read, whatever the other fields contain.
func TestOtherVersions(t *testing.T) {
	next := strings.Replace(string(usualBeat().Encode()), `"speaks":[1,1]`, `"speaks":[1,2],"new":{"x":[1]}`, 1)
	if b, err := ParseBeat([]byte(next)); err != nil || b.Address != usualBeat().Address || b.Speaks != (Versions{1, 2}) {
		t.Errorf("the next version: %+v, %v", b, err)
	}
	later := strings.Replace(strings.Replace(string(usualBeat().Encode()), `"speaks":[1,1]`, `"speaks":[7,8]`, 1), `"seq":17`, `"seq":"x"`, 1)
	if b, err := ParseBeat([]byte(later)); !errors.Is(err, ErrVersion) || b.Node != "goblin-0" || b.Speaks != (Versions{7, 8}) || b.Address != "" {
		t.Errorf("a later version: %+v, %v", b, err)
	}
	for _, c := range []struct {
		a, b Versions
		want bool
	}{{Versions{1, 1}, Versions{1, 2}, true}, {Versions{1, 2}, Versions{2, 3}, true}, {Versions{1, 2}, Versions{3, 4}, false}, {Versions{1, 1}, Versions{2, 2}, false}} {
		if c.a.Common(c.b) != c.want || c.b.Common(c.a) != c.want {
			t.Errorf("%v and %v", c.a, c.b)
		}
	}
}

// The hints that report the resources that a server has mentioned are accepted by all nodes, whatever the URIs contain.
func TestMentionHints(t *testing.T) {
	var uris []string
	for range 2*MaxMentioned + 1 {
		uris = append(uris, "x:"+strings.Repeat("<", 100))
	}
	uris = append(uris, strings.Repeat("x", MaxMentionedSize+1), "")
	count := 0
	for _, h := range MentionHints("files", uris) {
		h.Cluster, h.From = "prod", home
		message, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseHint(message)
		if err != nil || got.Kind != HintMentioned || got.Server != "files" {
			t.Fatalf("%+v, %v", got, err)
		}
		count += len(got.URIs)
	}
	if count != len(uris)-1 {
		t.Errorf("%d of %d URIs", count, len(uris))
	}
	long := Hint{Cluster: "prod", From: home, Kind: HintMentioned, URIs: []string{strings.Repeat("x", MaxMentionedSize+1)}}
	if message, err := long.Encode(); err == nil {
		if _, err := ParseHint(message); err == nil {
			t.Error("a hint with too long URIs is accepted")
		}
	}
	if MentionHints("files", nil) != nil {
		t.Error("nothing was mentioned, but there is a hint")
	}
}

// A decoder never panics. What it accepts, it accepts again after encoding.
func FuzzMessages(f *testing.F) {
	hint, _ := (&Hint{Cluster: "prod", From: home, Kind: HintCancel, Session: "2abc", Request: []byte(`7`)}).Encode()
	for _, seed := range [][]byte{
		usualBeat().Encode(), (&Verdict{"prod", other, "a", home, ReasonGone}).Encode(), hint,
		(&Answer{Revocations: Revocations{"prod", home, []Revocation{{"key:a", 1, false, 3}}}, More: true}).Encode(),
		(&Answer{Revocations: Revocations{"prod", home, nil}, Ended: []EndedSession{{"AAAAAAAAAAAAAAAA", 1}}, Catalog: &CatalogPart{"x", 0, 1, []byte("y")}, Next: "1/x"}).Encode(),
		(&Query{Cluster: "prod", From: home, Kind: QuerySession, Session: "2abc", Holder: "key:a"}).Encode(),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if b, err := ParseBeat(message); err == nil {
			if again, err := ParseBeat(b.Encode()); err != nil || !reflect.DeepEqual(again.Encode(), b.Encode()) {
				t.Errorf("beat: %+v, %v", again, err)
			}
		}
		if v, err := ParseVerdict(message); err == nil {
			if again, err := ParseVerdict(v.Encode()); err != nil || *again != *v {
				t.Errorf("verdict: %+v, %v", again, err)
			}
		}
		if h, err := ParseHint(message); err == nil {
			encoded, err := h.Encode()
			if err == nil {
				_, err = ParseHint(encoded)
			}
			if err != nil {
				t.Errorf("hint: %v", err)
			}
		}
		if a, err := ParseAnswer(message); err == nil {
			if _, err := ParseAnswer(a.Encode()); err != nil {
				t.Errorf("answer: %v", err)
			}
		}
		if m, err := ParseAuditMark(message); err == nil {
			if again, err := ParseAuditMark(m.Encode()); err != nil || *again != *m {
				t.Errorf("audit mark: %+v, %v", again, err)
			}
		}
		if q, err := ParseQuery(message); err == nil {
			if again, err := ParseQuery(q.Encode()); err != nil || *again != *q {
				t.Errorf("query: %+v, %v", again, err)
			}
		}
		if r, err := ParseRevocations(message); err == nil {
			if _, err := ParseRevocations(r.Encode()); err != nil {
				t.Errorf("revocations: %v", err)
			}
		}
	})
}

func BenchmarkParseBeat(b *testing.B) {
	message := usualBeat().Encode()
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		if _, err := ParseBeat(message); err != nil {
			b.Fatal(err)
		}
	}
}
