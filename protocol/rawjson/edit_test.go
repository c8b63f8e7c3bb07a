package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"unicode/utf8"
)

func TestAppendEdited(t *testing.T) {
	raw := []byte("0123456789")
	cases := []struct {
		edits []Edit
		want  string
	}{
		{nil, "0123456789"},
		{[]Edit{{Span{2, 4}, []byte("ab")}}, "01ab456789"},
		{[]Edit{{Span{8, 10}, nil}, {Span{0, 1}, []byte("xyz")}}, "xyz1234567"},
		{[]Edit{Insert(5, []byte("a")), Insert(5, []byte("b")), {Span{5, 6}, nil}}, "01234ab6789"},
		{[]Edit{Insert(10, []byte("!")), Insert(0, []byte("!"))}, "!0123456789!"},
		{[]Edit{{Span{0, 10}, []byte("new")}}, "new"},
	}
	for _, c := range cases {
		if got := string(AppendEdited([]byte("> "), raw, c.edits...)); got != "> "+c.want {
			t.Errorf("AppendEdited(%v) = %q, want %q", c.edits, got, c.want)
		}
		if got := string(bytes.Join(Pieces(raw, c.edits...), nil)); got != c.want {
			t.Errorf("Pieces(%v) make %q, want %q", c.edits, got, c.want)
		}
	}
}

func TestMemberEdits(t *testing.T) {
	cases := []struct{ raw, delete, insert, want string }{
		{`{"a":1,"b":2,"c":3}`, "a", "", `{"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "b", "", `{"a":1,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, "c", "", `{"a":1,"b":2}`},
		{`{ "a" : 1 , "b" : 2 }`, "b", "", `{ "a" : 1  }`},
		{`{"a":1}`, "a", "", `{}`},
		{`{"\u0061":{"x":[1,2]},"b":2}`, "a", "", `{"b":2}`},
		{`{}`, "", `"x":0`, `{"x":0}`},
		{`{ }`, "", `"x":0`, `{"x":0 }`},
		{`{"a":1}`, "", `"x":0`, `{"x":0,"a":1}`},
		{`{"a":1,"b":2}`, "a", `"x":0`, `{"x":0,"b":2}`},
	}
	for _, c := range cases {
		raw := []byte(c.raw)
		var edits []Edit
		if c.insert != "" {
			edits = append(edits, InsertMember(raw, Whole(raw), []byte(c.insert)))
		}
		if c.delete != "" {
			e, ok := DeleteMember(raw, Whole(raw), c.delete)
			if !ok {
				t.Errorf("DeleteMember(%s, %s): not found", c.raw, c.delete)
			}
			edits = append(edits, e)
		}
		if got := string(AppendEdited(nil, raw, edits...)); got != c.want {
			t.Errorf("%s without %q with %q: %s, want %s", c.raw, c.delete, c.insert, got, c.want)
		}
	}
	if _, ok := DeleteMember([]byte(`{"a":1}`), Span{0, 7}, "b"); ok {
		t.Error("DeleteMember found what is not there")
	}
}

func TestEditObject(t *testing.T) {
	cases := []struct {
		raw  string
		drop []string
		add  []string
		want string
	}{
		{`{"a":1,"b":2,"c":3,"d":4}`, []string{"a", "b"}, nil, `{"c":3,"d":4}`},
		{`{"a":1,"b":2,"c":3,"d":4}`, []string{"c", "d"}, nil, `{"a":1,"b":2}`},
		{`{"a":1,"b":2,"c":3,"d":4}`, []string{"a", "c"}, nil, `{"b":2,"d":4}`},
		{`{"a":1,"b":2}`, []string{"a", "b"}, nil, `{}`},
		{`{"a":1,"b":2}`, []string{"a", "b"}, []string{`"x":0`}, `{"x":0}`},
		{`{"a":1,"b":2}`, []string{"a", "b"}, []string{`"x":0`, `"y":0`}, `{"x":0,"y":0}`},
		{`{"a":1,"b":2}`, []string{"a"}, []string{`"x":0`, `"y":0`}, `{"x":0,"y":0,"b":2}`},
		{`{"a":1,"a":2,"b":3}`, []string{"a"}, nil, `{"b":3}`},
		{`{}`, []string{"a"}, []string{`"x":0`}, `{"x":0}`},
	}
	for _, c := range cases {
		raw := []byte(c.raw)
		var add [][]byte
		for _, m := range c.add {
			add = append(add, []byte(m))
		}
		edits := EditObject(nil, raw, Whole(raw), c.drop, add...)
		if got := string(AppendEdited(nil, raw, edits...)); got != c.want {
			t.Errorf("EditObject(%s, %v, %v): %s, want %s", c.raw, c.drop, c.add, got, c.want)
		}
	}
}

// After any edit, encoding/json's token reader sees the remaining members of the object, in order.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"a":1,"b":[1,2],"a":{}}`, `{ "a" : "x,y" , "\u0061":2 }`, `{"b":{"a":1},"c":"\\"}`, "{\n\"c\":1,\t\"a\":2}"} {
		f.Add([]byte(s), uint8(1))
		f.Add([]byte(s), uint8(6))
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint8) {
		if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		raw = bytes.TrimSpace(raw)
		var drop []string
		for i, key := range []string{"a", "b", "c", "\uFFFD"} {
			if which>>i&1 != 0 {
				drop = append(drop, key)
			}
		}
		var want []member
		for _, m := range decodedMembers(raw) {
			if !slices.Contains(drop, m.key) {
				want = append(want, m)
			}
		}
		checkEdited(t, raw, EditObject(nil, raw, Whole(raw), drop), want)
		added := append([]member{{key: "x", value: []byte("0")}}, want...)
		checkEdited(t, raw, EditObject(nil, raw, Whole(raw), drop, []byte(`"x":0`)), added)
		added = append([]member{{key: "x", value: []byte("0")}}, decodedMembers(raw)...)
		checkEdited(t, raw, []Edit{InsertMember(raw, Whole(raw), []byte(`"x":0`))}, added)
	})
}

func checkEdited(t *testing.T, raw []byte, edits []Edit, want []member) {
	t.Helper()
	got := AppendEdited(nil, raw, edits...)
	if !json.Valid(got) {
		t.Fatalf("%s edited %v: %s is not JSON", raw, edits, got)
	}
	same := func(a, b member) bool { return a.key == b.key && bytes.Equal(a.value, b.value) }
	if members := decodedMembers(got); !slices.EqualFunc(members, want, same) {
		t.Fatalf("%s edited %v: %s", raw, edits, got)
	}
}
