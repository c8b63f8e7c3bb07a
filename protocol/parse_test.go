package protocol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	cases := []struct {
		raw  string
		want error
		code int
		id   string // the id for an error response; "" = none
	}{
		{``, ErrSyntax, -32700, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, ErrSyntax, -32700, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, ErrSyntax, -32700, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\nng\"}", ErrSyntax, -32700, ""}, // a newline would break stdio framing
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", ErrSyntax, -32700, ""},
		{"\ufeff{}", ErrSyntax, -32700, ""},
		{deep(512), ErrDepth, -32600, ""},
		{deep(100000), ErrDepth, -32600, ""},
		{`[]`, ErrShape, -32600, ""},
		{`7`, ErrShape, -32600, ""},
		{`{"id":7,"method":"ping"}`, ErrVersion, -32600, "7"},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, ErrVersion, -32600, "7"},
		{`{"jsonrpc":2.0,"id":7,"method":"ping"}`, ErrVersion, -32600, "7"},
		{`{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}`, ErrDuplicate, -32600, ""},
		{`{"jsonrpc":"2.0","id":7,"i\u0064":8,"method":"a"}`, ErrDuplicate, -32600, ""},
		{`{"jsonrpc":"2.0","\u0069d":7,"method":"a"}`, ErrDuplicate, -32600, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"a","METHOD":"b"}`, ErrDuplicate, -32600, ""},
		{`{"jsonrpc":"2.0","id":7}`, ErrShape, -32600, "7"},
		{`{"jsonrpc":"2.0","id":{},"method":"a"}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"a"}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"a"}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","id":null,"method":"a"}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","result":{}}`, ErrShape, -32600, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, ErrShape, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"error":"x"}`, ErrShape, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, ErrShape, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, ErrShape, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"a","params":"x"}`, ErrShape, -32600, "1"},
	}
	for _, c := range cases {
		var f Frame
		err := f.Parse([]byte(c.raw))
		if !errors.Is(err, c.want) || ErrorCode(err) != c.code || string(f.IDBytes()) != c.id || f.Kind != KindInvalid {
			t.Errorf("Parse(%.80s) = %v (code %d, id %q), want %v, %d, %q", c.raw, err, ErrorCode(err), f.IDBytes(), c.want, c.code, c.id)
		}
	}
}

// Ids are kept as bytes: they are not rounded or rewritten. Unknown members stay in Raw.
func TestParseKeeps(t *testing.T) {
	for _, id := range []string{`"a"`, `""`, `"\u0041"`, "0", "-7", "1e3", "1.0", "9007199254740993", "123456789012345678901234567890"} {
		f := mustParse(t, `{"jsonrpc":"2.0","vendor":{"x":1},"id":`+id+`,"method":"ping"}`)
		if string(f.IDBytes()) != id || f.Kind != KindRequest || f.Method != MethodPing || !strings.Contains(string(f.Raw), "vendor") {
			t.Errorf("id %s: %q, kind %d, %v", id, f.IDBytes(), f.Kind, f.Method)
		}
	}
	f := mustParse(t, " \r\n"+`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"},"params":5}`+"\n")
	if f.Newline || f.Raw[0] != '{' || string(f.ErrorBytes()) != `{"code":-1,"message":"x"}` || f.MethodText() != "" || f.ResultBytes() != nil {
		t.Errorf("%+v", f)
	}
	if f := mustParse(t, "{\"jsonrpc\":\"2.0\",\n\"method\":\"vendor\\/x\"}"); !f.Newline || f.MethodText() != "vendor/x" || f.Kind != KindNotification {
		t.Errorf("%+v", f)
	}
}

func TestParseBatch(t *testing.T) {
	raw := []byte(` [ {"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"x","params":["]"]} ,{"jsonrpc":"2.0","id":2,"result":{}}] `)
	var got []string
	err := ParseBatch(raw, func(f *Frame) error {
		got = append(got, fmt.Sprint(f.Kind, string(f.Raw)))
		return nil
	})
	want := `[1{"jsonrpc":"2.0","id":1,"method":"ping"} 2{"jsonrpc":"2.0","method":"x","params":["]"]} 3{"jsonrpc":"2.0","id":2,"result":{}}]`
	if fmt.Sprint(got) != want || err != nil || !IsBatch(raw) {
		t.Errorf("ParseBatch: %v, %v", got, err)
	}
	stop := errors.New("stop")
	if err := ParseBatch(raw, func(*Frame) error { return stop }); err != stop {
		t.Errorf("the error of each: %v", err)
	}
	message := `{"jsonrpc":"2.0","method":"x"}`
	for text, want := range map[string]error{
		`[]`: ErrShape, `{}`: ErrShape, `[1]`: ErrShape, `[` + message + `,1]`: ErrShape, `[` + message: ErrSyntax, `[` + message + `,]`: ErrSyntax, ``: ErrSyntax,
		`[` + strings.Repeat(message+",", MaxBatch) + message + `]`: ErrTooLarge,
	} {
		err := ParseBatch([]byte(text), func(*Frame) error { t.Errorf("%.40s: called", text); return nil })
		if !errors.Is(err, want) {
			t.Errorf("ParseBatch(%.40s) = %v, want %v", text, err, want)
		}
	}
	if IsBatch([]byte(" {")) || IsBatch(nil) {
		t.Error("IsBatch accepts text that is not a batch")
	}
}

// Escapes, characters and string ends are validated at every distance from the end and from the eight-byte blocks of
// the scan.
func TestParseAlignment(t *testing.T) {
	for n := range 80 {
		pad := strings.Repeat("x", n)
		for _, tail := range []string{`"`, `\""`, `\\"`, `\u00e9"`, `é"`, `水"`, `😀"`, "\x01\"", `\x"`, "\xff\"", `\u12"`, "\xe6\xb0\"", ``, `\`, "\xe6"} {
			for _, after := range []string{"", strings.Repeat(" ", 40)} {
				raw := []byte(`"` + pad + tail + after)
				if got, want := Valid(raw) == nil, referenceValid(raw); got != want {
					t.Fatalf("Valid(%q) = %v, want %v", raw, got, want)
				}
			}
		}
	}
}

// Every byte that is not ASCII is validated as the first of a character, with selected bytes after it, in the middle
// and at the end of the text.
func TestParseUTF8(t *testing.T) {
	second := []byte{0x00, 0x22, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF}
	for first := 0x80; first <= 0xFF; first++ {
		for _, b := range second {
			for _, c := range []byte{0x7F, 0x80, 0xBF, 0xC0, 'x'} {
				for _, d := range []byte{0x7F, 0x80, 0xBF, 0xC0, 'x'} {
					for _, after := range []string{"", "padding"} {
						raw := []byte{'"', byte(first), b, c, d}
						raw = append(append(raw, after...), '"')
						if got, want := Valid(raw) == nil, referenceValid(raw); got != want {
							t.Fatalf("Valid(%q) = %v, want %v", raw, got, want)
						}
					}
				}
			}
		}
	}
}
