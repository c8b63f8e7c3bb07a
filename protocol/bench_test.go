package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

// request200 is a tools/call of exactly 200 bytes.
var request200 = func() []byte {
	const begin = `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"files_read_file","arguments":{"path":"/srv/notes/today.md","lines":40,"note":"`
	const end = `"},"_meta":{"progressToken":7}}}`
	return []byte(begin + strings.Repeat("x", 200-len(begin)-len(end)) + end)
}()

func resultOf(text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":12345,"result":{"content":[{"type":"text","text":%s}]}}`, rawjson.Quote(text))
}

var corpus = []struct {
	name string
	raw  []byte
}{
	{"request200", request200},
	{"result4K", resultOf(strings.Repeat("a line of quite ordinary text\n", 130))},
	{"numbers16K", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":[%s1]}`, strings.Repeat(`12.5e3,`, 2300))},
	{"objects64K", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"tools":[%s{}]}}`, strings.Repeat(`{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},`, 750))},
	{"ascii1M", resultOf(strings.Repeat("0123456789abcdef", 1<<16))},
	{"lines1M", resultOf(strings.Repeat("a line of quite ordinary text\n", 35000))},
	{"chinese1M", resultOf(strings.Repeat("演员网关", 1<<20/12))},
}

func BenchmarkParse(b *testing.B) {
	for _, c := range corpus {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(c.raw)))
			b.ReportAllocs()
			for b.Loop() {
				var f Frame
				if err := f.Parse(c.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(c.raw)))
			b.ReportAllocs()
			for b.Loop() {
				var f struct{ JSONRPC, ID, Method, Params, Result, Error json.RawMessage }
				if err := json.Unmarshal(c.raw, &f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParamsScan(b *testing.B) {
	var f Frame
	if err := f.Parse(request200); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var p Params
		if err := p.Scan(&f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSplice(b *testing.B) {
	var f Frame
	var p Params
	if err := f.Parse(request200); err != nil {
		b.Fatal(err)
	}
	if err := p.Scan(&f); err != nil {
		b.Fatal(err)
	}
	id, name := []byte("77"), []byte(`"read_file"`)
	b.ReportAllocs()
	for b.Loop() {
		if out := rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: f.ID, With: id}, rawjson.Edit{Span: p.Name, With: name}); !bytes.Contains(out, name) {
			b.Fatal(string(out))
		}
	}
}

// Scanning does not allocate, except for the error of a malformed message. Splicing allocates once, or not at all into
// a buffer with enough capacity.
func TestAllocations(t *testing.T) {
	var f Frame
	var p Params
	count := func(what string, limit float64, run func()) {
		if n := testing.AllocsPerRun(200, run); n > limit {
			t.Errorf("%s: %v allocations, want at most %v", what, n, limit)
		}
	}
	for _, c := range corpus[:4] {
		count("Parse "+c.name, 0, func() { _ = f.Parse(c.raw) })
	}
	escaped := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"n\u0061me":"x","unknown":1}}`)
	count("Parse escaped", 0, func() { _ = f.Parse(escaped) })
	if f.Method != MethodToolsCall {
		t.Errorf("escaped method: got %v", f.Method)
	}
	if err := f.Parse(request200); err != nil {
		t.Fatal(err)
	}
	count("Params.Scan", 0, func() { _ = p.Scan(&f) })
	count("AppendEdited", 1, func() {
		rawjson.AppendEdited(nil, f.Raw, rawjson.Edit{Span: p.Name, With: []byte(`"read"`)}, rawjson.Edit{Span: f.ID, With: []byte("77")})
	})
	buffer := make([]byte, 0, 1024)
	count("AppendEdited into a buffer", 0, func() {
		rawjson.AppendEdited(buffer, f.Raw, rawjson.Edit{Span: p.Name, With: []byte(`"read"`)}, rawjson.Edit{Span: f.ID, With: []byte("77")})
	})
	bad := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"`)
	count("Parse malformed", 1, func() { _ = f.Parse(bad) })
}
