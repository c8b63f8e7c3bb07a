package protocol

import (
	"fmt"
	"strings"
	"testing"

	"goblin-actor/protocol/rawjson"
)

// edge rewrites a frame of a call from a client or server for the other side, to measure what that costs. "same era"
// is the splice of id, name and token that every call needs.
type edge struct {
	name string
	run  func() []byte
}

var (
	edgeID, edgeName, edgeToken = []byte("77"), []byte(`"read_file"`), []byte("77")
	edgeBuffer                  = make([]byte, 0, 8<<10)
)

func edges(t testing.TB) []edge {
	t.Helper()
	legacy, lp := scanned(t, string(request200))
	const arguments = `{"path":"/srv/notes/today.md","lines":40,"note":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`
	const info = `{"name":"client","version":"1.0.0"}`
	modern, mp := scanned(t, call("tools/call", `{"name":"files_read_file","arguments":`+arguments+`,"_meta":{`+v28+
		`,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":`+info+`,"progressToken":7}}`))
	text := string(rawjson.Quote(strings.Repeat("a line of quite ordinary text\n", 130)))
	plain, pr := scannedResult(t, answer(`{"content":[{"type":"text","text":`+text+`}]}`))
	said, sr := scannedResult(t, answer(`{"resultType":"complete","content":[{"type":"text","text":`+text+`}],`+serverMeta+`}`))
	meta := ModernMeta{ClientInfo: []byte(info), Capabilities: []byte(`{"elicitation":{}}`), Token: edgeToken}
	server := []byte(testServer)
	request := func(f *Frame, p *Params, edits []rawjson.Edit) []byte {
		edits = append(edits, rawjson.Edit{Span: f.ID, With: edgeID}, rawjson.Edit{Span: p.Name, With: edgeName})
		return rawjson.AppendEdited(edgeBuffer, f.Raw, edits...)
	}
	return []edge{
		{"request/same era", func() []byte {
			var edits [32]rawjson.Edit
			return request(legacy, lp, append(edits[:0], rawjson.Edit{Span: lp.ProgressToken, With: edgeToken}))
		}},
		{"request/legacy to modern", func() []byte {
			var edits [32]rawjson.Edit
			return request(legacy, lp, ToModernRequest(edits[:0], legacy, lp, &meta))
		}},
		{"request/modern to legacy", func() []byte {
			var edits [32]rawjson.Edit
			return request(modern, mp, ToLegacyRequest(edits[:0], modern, mp, edgeToken))
		}},
		{"request/modern to modern", func() []byte {
			var edits [32]rawjson.Edit
			return request(modern, mp, ToModernRequest(edits[:0], modern, mp, &meta))
		}},
		{"result/same era", func() []byte {
			return rawjson.AppendEdited(edgeBuffer, plain.Raw, rawjson.Edit{Span: plain.ID, With: edgeID})
		}},
		{"result/legacy to modern", func() []byte {
			var edits [32]rawjson.Edit
			return rawjson.AppendEdited(edgeBuffer, plain.Raw, ToModernResult(append(edits[:0], rawjson.Edit{Span: plain.ID, With: edgeID}), MethodToolsCall, plain, pr, server)...)
		}},
		{"result/modern to legacy", func() []byte {
			var edits [32]rawjson.Edit
			return rawjson.AppendEdited(edgeBuffer, said.Raw, ToLegacyResult(append(edits[:0], rawjson.Edit{Span: said.ID, With: edgeID}), MethodToolsCall, said, sr)...)
		}},
		{"result/modern to modern", func() []byte {
			var edits [32]rawjson.Edit
			return rawjson.AppendEdited(edgeBuffer, said.Raw, ToModernResult(append(edits[:0], rawjson.Edit{Span: said.ID, With: edgeID}), MethodToolsCall, said, sr, server)...)
		}},
	}
}

func BenchmarkEdges(b *testing.B) {
	for _, e := range edges(b) {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.run()
			}
		})
	}
}

func checked(t testing.TB) (func(string) string, *Frame, *Params, *Bindings) {
	t.Helper()
	f, p := scanned(t, call("tools/call", `{"name":"a","arguments":{"region":"us-west1","n":42,"query":"select"},`+testMeta+`}`))
	var values = map[string]string{HeaderVersion: Version20260728, HeaderMethod: "tools/call", HeaderName: "a", "Mcp-Param-Region": "us-west1", "Mcp-Param-N": "42"}
	return func(name string) string { return values[name] }, f, p, mustCompile(t)
}

func BenchmarkCheckModern(b *testing.B) {
	header, f, p, _ := checked(b)
	b.ReportAllocs()
	for b.Loop() {
		if EraOf(header, f, p) != EraModern || CheckModern(header, f, p) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkBindings(b *testing.B) {
	header, f, p, bindings := checked(b)
	args := p.Arguments.Of(f.Raw)
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if fault := bindings.Check(header, args); fault != nil {
				b.Fatal(fault)
			}
		}
	})
	b.Run("headers", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bindings.Headers(args)
		}
	})
}

// The steps of every call do not allocate if the edits and the frame have capacity.
func TestCallStepsDoNotAllocate(t *testing.T) {
	count := func(what string, run func()) {
		if n := testing.AllocsPerRun(200, run); n > 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	for _, e := range edges(t) {
		count(e.name, func() { e.run() })
	}
	header, f, p, bindings := checked(t)
	count("EraOf, CheckModern", func() { _, _ = EraOf(header, f, p), CheckModern(header, f, p) })
	count("Bindings.Check", func() { bindings.Check(header, p.Arguments.Of(f.Raw)) })
	bare, bp := scanned(t, call("tools/call", `{"name":"a","arguments":{}}`))
	meta := ModernMeta{Token: edgeToken}
	count("a request without _meta", func() {
		var edits [32]rawjson.Edit
		rawjson.AppendEdited(edgeBuffer, bare.Raw, ToModernRequest(edits[:0], bare, bp, &meta)...)
	})
}

func ExampleToModernRequest() {
	var f Frame
	var p Params
	raw := []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"files_read","arguments":{"path":"x"}}}`)
	if err := f.Parse(raw); err != nil {
		fmt.Println(err)
	}
	if err := p.Scan(&f); err != nil {
		fmt.Println(err)
	}
	var edits [32]rawjson.Edit
	out := ToModernRequest(append(edits[:0], rawjson.Edit{Span: f.ID, With: []byte("7")}, rawjson.Edit{Span: p.Name, With: []byte(`"read"`)}), &f, &p, &ModernMeta{Token: []byte("7")})
	fmt.Println(string(rawjson.AppendEdited(nil, f.Raw, out...)))
	// Output: {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":7},"name":"read","arguments":{"path":"x"}}}
}
