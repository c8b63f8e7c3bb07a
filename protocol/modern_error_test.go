package protocol

import (
	"encoding/json"
	"testing"

	"goblin-actor/protocol/rawjson"
)

func failure(err string) string { return `{"jsonrpc":"2.0","id":1,"error":` + err + `}` }

// B.1 "error numbers", X10, X11: codes are translated by meaning, and no reserved code is relayed.
func TestTranslateError(t *testing.T) {
	cases := []struct {
		m        Method
		toModern bool
		have     string
		want     string // "" = unchanged
	}{
		{MethodResourcesRead, true, `{"code":-32002,"message":"no"}`, `{"data":{"uri":"pub"},"code":-32602,"message":"no"}`},
		{MethodResourcesRead, true, `{"code":-32002,"message":"no","data":{"uri":"raw","x":1}}`, `{"code":-32602,"message":"no","data":{"uri":"pub","x":1}}`},
		{MethodResourcesRead, true, `{"code":-32002.0,"data":null}`, `{"data":{"uri":"pub"},"code":-32602}`},
		{MethodResourcesRead, true, `{"code":-32602,"message":"MCP error -32602: Resource x not found"}`, ``},
		{MethodResourcesRead, false, `{"code":-32602,"message":"Unknown","data":{"uri":"raw"}}`, `{"code":-32002,"message":"Unknown","data":{"uri":"pub"}}`},
		{MethodResourcesRead, false, `{"code":-32602,"message":"Resource Not Found: x"}`, `{"data":{"uri":"pub"},"code":-32002,"message":"Resource Not Found: x"}`},
		{MethodResourcesRead, false, `{"code":-32602,"message":"bad cursor"}`, ``},
		{MethodToolsCall, false, `{"code":-32602,"message":"tool not found","data":{"uri":"x"}}`, ``},
		{MethodToolsCall, true, `{"code":-32002,"message":"x"}`, `{"data":{"originalCode":-32002},"code":-32603,"message":"x"}`},
		{MethodToolsCall, true, `{"code":-32050,"message":"x","data":{"a":1,"originalCode":2}}`, `{"code":-32603,"message":"x","data":{"a":1,"originalCode":-32050}}`},
		{MethodToolsCall, true, `{"code":-32099,"message":"x","data":[1]}`, `{"code":-32603,"message":"x","data":{"originalCode":-32099,"data":[1]}}`},
		{MethodToolsCall, true, `{"code":-32042,"message":"x","data":{"elicitations":[]}}`, `{"code":-32603,"message":"x","data":{"originalCode":-32042,"elicitations":[]}}`},
		{MethodToolsCall, true, `{"code":-32001,"message":"x"}`, ``}, {MethodToolsCall, true, `{"code":-32100,"message":"x"}`, ``},
		{MethodToolsCall, true, `{"code":0,"message":"x"}`, ``}, {MethodToolsCall, false, `{"code":-32002,"message":"x"}`, ``},
		{MethodToolsCall, false, `{"code":-32021,"message":"x","data":{"requiredCapabilities":{"roots":{}}}}`, `{"code":-32603,"message":"x","data":{"originalCode":-32021,"requiredCapabilities":{"roots":{}}}}`},
		{MethodToolsCall, false, `{"code":-32020,"message":"x"}`, `{"data":{"originalCode":-32020},"code":-32603,"message":"x"}`},
		{MethodToolsCall, false, `{"code":-32022,"message":"x"}`, `{"data":{"originalCode":-32022},"code":-32603,"message":"x"}`},
		{MethodToolsCall, true, `{"message":"x"}`, ``}, {MethodToolsCall, true, `{"code":"-32050"}`, ``}, {MethodToolsCall, true, `{"code":-32050.5}`, ``},
	}
	for _, c := range cases {
		f := mustParse(t, failure(c.have))
		if c.want == "" {
			c.want = c.have
		}
		edits := TranslateError(nil, c.m, f, []byte(`"pub"`), eraIf(c.toModern))
		if got := string(rawjson.AppendEdited(nil, f.Raw, edits...)); got != failure(c.want) {
			t.Errorf("%v %s, to modern %v:\ngot  %s\nwant %s", c.m, c.have, c.toModern, got, failure(c.want))
		}
	}
}

func TestErrorNumber(t *testing.T) {
	for text, want := range map[string]int{`-32042`: -32042, `0`: 0, `1e3`: 1000, `-3.2e4`: -32000} {
		if got, ok := ErrorNumber(mustParse(t, failure(`{"code":`+text+`}`))); got != want || !ok {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{`"1"`, `null`, `1.5`, `1e300`, `9007199254740993`, `[]`} {
		if got, ok := ErrorNumber(mustParse(t, failure(`{"code":`+text+`}`))); ok {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func FuzzTranslateError(f *testing.F) {
	for _, s := range []string{`{"code":-32002}`, `{"code":-32050,"data":"x"}`, `{"data":{"uri":1},"code":-32602}`, `{"code":-32602,"message":"not found","data":null,"Data":1}`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, toModern bool) {
		for _, m := range []Method{MethodResourcesRead, MethodToolsCall} {
			var frame, out Frame
			if frame.Parse([]byte(failure(text))) != nil || frame.Kind != KindError {
				return
			}
			raw := rawjson.AppendEdited(nil, frame.Raw, TranslateError(nil, m, &frame, []byte(`"pub"`), eraIf(toModern))...)
			if err := out.Parse(raw); err != nil || !json.Valid(raw) {
				t.Fatalf("%s became %s: %v", frame.Raw, raw, err)
			}
			code, ok := ErrorNumber(&out)
			if ok && (-32099 <= code && code <= -32020 || toModern && code == -32002) {
				t.Fatalf("%s became %s", frame.Raw, raw)
			}
			compare(t, frame.Raw, raw, frame.ErrorBytes(), out.ErrorBytes(), "code", "data")
		}
	})
}

func TestIsError(t *testing.T) {
	for have, want := range map[string]bool{
		`{"code":0,"message":""}`: true, `{"code":-32603,"message":"x","data":7}`: true, `{"code":1.0,"message":"x"}`: true,
		`{"code":1.5,"message":"x"}`: false, `{"code":"1","message":"x"}`: false, `{"message":"x"}`: false,
		`{"code":1}`: false, `{"code":1,"message":7}`: false, `{}`: false,
	} {
		if got := IsError(mustParse(t, failure(have))); got != want {
			t.Errorf("%s: %v, want %v", have, got, want)
		}
	}
}
