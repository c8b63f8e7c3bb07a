package seal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

func TestDigest(t *testing.T) {
	name := []byte(`"n"`)
	of := func(arguments string) [32]byte { return Digest("tools/call", name, []byte(arguments)) }
	// Arguments in the same group have the same digest. Those in different groups have different digests.
	groups := [][]string{
		{`{}`, ` { } `},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, "{\n\t\"b\" : 2 ,\r\n \"\\u0061\" : 1 }"},
		{`{"a":1.0,"b":2}`}, {`{"a":"1","b":2}`}, {`{"a":1e0,"b":2}`},
		{`{"a":{"b":2}}`}, {`{"a":[{"b":2}]}`}, {`{"a":["b",2]}`}, {`{"a":["b",[2]]}`}, {`{"a":[["b"],2]}`}, {`{"a":["b2"]}`},
		{`{"a":"x\"y/é😀\n"}`, `{"a":"x\u0022y\/\u00e9\ud83d\ude00\u000a"}`},
		{`{"a":[1,2]}`, `{"a":[ 1 , 2 ]}`}, {`{"a":[2,1]}`}, {`{"a":[12]}`}, {`{"a":[]}`}, {`{"a":null}`}, {`{"a":"null"}`}, {`{"a":true}`}, {`{"":""}`},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`}, {`{"a":1}`},
		{`{"x":{"b":[{"d":1,"c":2}],"a":3}}`, `{"x":{"a":3,"b":[{"c":2,"d":1}]}}`},
	}
	seen := map[[32]byte]string{}
	for _, group := range groups {
		first := of(group[0])
		for _, other := range group[1:] {
			if of(other) != first {
				t.Errorf("%s and %s have different digests", group[0], other)
			}
		}
		if before, ok := seen[first]; ok {
			t.Errorf("%s and %s have the same digest", before, group[0])
		}
		seen[first] = group[0]
	}
	if Digest("tools/call", name, nil) != of(`{}`) {
		t.Error("no arguments are not {}")
	}
	if Digest("tools/call", []byte(`"m"`), nil) == of(`{}`) || Digest("prompts/get", name, nil) == of(`{}`) {
		t.Error("the digest ignores the name or the method")
	}
}

func TestDigestDeep(t *testing.T) {
	deep := strings.Repeat(`{"b":1,"a":`, 500) + strings.Repeat("[", 5) + strings.Repeat("]", 5) + strings.Repeat("}", 500)
	other := strings.Repeat(`{"b":1,"a":`, 500) + strings.Repeat("[", 4) + strings.Repeat("]", 4) + strings.Repeat("}", 500)
	if Digest("m", nil, []byte(deep)) == Digest("m", nil, []byte(other)) {
		t.Error("the digest ignores the nesting depth")
	}
}

// JSON that encoding/json has written again, with sorted keys, has the same digest. Invalid JSON does not panic.
func FuzzDigest(f *testing.F) {
	for _, s := range []string{`{"b":[1,{"c":null}],"a":"\u00e9"}`, `{}`, `[[]`, `{"a"`, `"\`, `{"a":1}}`, `[}`, `{"a":[:]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Digest("m", nil, raw)
		if protocol.Valid(raw) != nil || !writable(raw) {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var v any
		if decoder.Decode(&v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if Digest("m", nil, again) != got {
			t.Fatalf("%s and %s differ", raw, again)
		}
	})
}

// writable reports whether encoding/json would write the value unchanged: no key occurs twice.
func writable(raw []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var open [][]string // keys so far, by open bracket; nil for arrays
	key := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return true
		}
		switch token {
		case json.Delim('{'):
			open, key = append(open, []string{}), true
			continue
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		default:
			if text, ok := token.(string); ok && key {
				if slices.Contains(open[len(open)-1], text) {
					return false
				}
				open[len(open)-1], key = append(open[len(open)-1], text), false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}

func BenchmarkDigest(b *testing.B) {
	arguments := []byte(`{"path":"/srv/notes/today.md","lines":40,"note":"` + strings.Repeat("x", 100) + `","more":{"a":[1,2,3],"b":null}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(arguments)))
	for b.Loop() {
		Digest("tools/call", []byte(`"read"`), arguments)
	}
}
