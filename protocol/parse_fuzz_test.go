package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

var parseSeeds = []string{
	string(request200),
	`{"jsonrpc":"2.0","id":"a","result":{"x":[1,2,{"y":null}]}}`,
	"{ \"jsonrpc\" : \"2.0\",\n\t\"method\":\"notifications/initialized\" }\r\n",
	`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
	`{"jsonrpc":"2.0","error":{"code":0,"message":"no"}}`,
	`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"result":true,"error":null}`,
	`{"jsonrpc":"2.0","id":-1,"result":null,"error":{}}`,
	`{"jsonrpc":"2.0","id":1.50,"method":"ping"}`, `{"jsonrpc":"2.0","id":1.00e2,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1e-3,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`,
	`{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}`,
	`{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}`,
	`{"jsonrpc":"2.0","id":1,"method":"a","paramſ":{}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":[],"else":"\ud800","\u00e9":0}`,
	`{"jsonrpc":"2.0","id":1,"method":"a","params":null}`, `{"jsonrpc":"2.0","id":null,"method":"a"}`,
	`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource"},{"type":"resource_link"}],"isError":true}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"type":"\u0072esource","x":{"isError" : true}}}`, `{"jsonrpc":"2.0","id":1,"result":["resourc\u0065","resource\u005flink"]}`,
	`{"jsonrpc":"2.0","id":1,"result":{"isError":false,"x":["resources","res\n",":true",true,"\"isError\":",true]}}`,
	`[{"jsonrpc":"2.0"}]`, `{}`, ``, `null`, `"\u12"`, `{"a":}`, `{"a":1,}`, `[1,]`, `-`, `01`, `1.`, `1e`, `tru`, "\"\x01\"", "\"\xff\"",
	"\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\"é水😀\"", "\"\xe6\xb0\"", `"` + strings.Repeat("x", 40) + `\"` + strings.Repeat("y", 40) + `"`,
	strings.Repeat("[", 512) + strings.Repeat("]", 512), strings.Repeat("[", 513) + strings.Repeat("]", 513),
	`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(`{"a":`, 511) + "1" + strings.Repeat("}", 512),
	`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(`[`, 512) + strings.Repeat("]", 512) + `}`,
}

// Parse accepts the same input as encoding/json, except for its stricter rules, and finds the same spans.
func FuzzParse(f *testing.F) {
	for _, s := range parseSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		if got, want := Valid(raw) == nil, referenceValid(raw); got != want {
			t.Fatalf("Valid(%q) = %v, want %v", raw, got, want)
		}
		var frame Frame
		err := frame.Parse(raw)
		want, ok := referenceFrame(raw)
		if (err == nil) != ok {
			t.Fatalf("Parse(%q) = %v, want accepted: %v", raw, err, ok)
		}
		if err != nil {
			checkRefusal(t, raw, &frame, err)
		} else {
			checkFrame(t, raw, &frame, want)
		}
		if !bytes.Equal(raw, before) {
			t.Fatal("Parse wrote to its input")
		}
	})
}

func checkRefusal(t *testing.T, raw []byte, f *Frame, err error) {
	t.Helper()
	p, ok := errors.AsType[*ParseError](err)
	if !ok || p.Offset < 0 || p.Offset > len(raw) || f.Kind != KindInvalid {
		t.Fatalf("Parse(%q) = %#v, kind %d", raw, err, f.Kind)
	}
	if malformed := !referenceValid(raw); malformed != (p.Kind == ErrSyntax || p.Kind == ErrDepth) {
		t.Fatalf("Parse(%q) = %v, malformed: %v", raw, err, malformed)
	}
	if (p.Kind == ErrSyntax) != (p.Code == -32700) {
		t.Fatalf("Parse(%q): code %d for %v", raw, p.Code, p.Kind)
	}
}

func checkFrame(t *testing.T, raw []byte, f *Frame, want map[string][]byte) {
	t.Helper()
	if string(f.Raw) != strings.Trim(string(raw), " \t\r\n") {
		t.Fatalf("Parse(%q): Raw is %q", raw, f.Raw)
	}
	if f.Newline != referenceNewline(f.Raw) {
		t.Fatalf("Parse(%q): Newline is %v", raw, f.Newline)
	}
	checkNotes(t, f)
	spans := map[string]rawjson.Span{"id": f.ID, "method": f.RawMethod, "params": f.Params, "result": f.Result, "error": f.Error}
	for key, span := range spans {
		if got := span.Of(f.Raw); !bytes.Equal(got, want[key]) {
			t.Fatalf("Parse(%q): %s is %q, want %q", raw, key, got, want[key])
		}
	}
	kind := KindResult
	switch {
	case want["method"] != nil && want["id"] != nil:
		kind = KindRequest
	case want["method"] != nil:
		kind = KindNotification
	case want["error"] != nil:
		kind = KindError
	}
	if f.Kind != kind {
		t.Fatalf("Parse(%q): kind %d, want %d", raw, f.Kind, kind)
	}
	if text, _ := rawjson.Unquote(want["method"]); text != f.MethodText() || ParseMethod([]byte(text)) != f.Method {
		t.Fatalf("Parse(%q): method %q as %v", raw, text, f.Method)
	}
}

// checkNotes checks that Resource and Failure are set if required, and only if a search of the text finds the words.
func checkNotes(t *testing.T, f *Frame) {
	t.Helper()
	resource, failure := referenceNotes(f.Raw)
	if resource && !f.Resource || failure && !f.Failure {
		t.Fatalf("Parse(%q): noted resource %v, failure %v", f.Raw, f.Resource, f.Failure)
	}
	if f.Resource && !bytes.Contains(f.Raw, []byte(`"resource`)) && !bytes.Contains(f.Raw, []byte(`\u`)) {
		t.Fatalf("Parse(%q): noted a resource", f.Raw)
	}
	if f.Failure && !bytes.Contains(f.Raw, []byte(`"isError"`)) {
		t.Fatalf("Parse(%q): noted a failure", f.Raw)
	}
}

func ExampleFrame_Parse() {
	var f Frame
	if err := f.Parse([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"read"}}`)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(f.Method, string(f.IDBytes()), string(f.ParamsBytes()))
	// Output: tools/call 9007199254740993 {"name":"read"}
}
