package catalog

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"goblin-actor/protocol"
)

// big returns servers with tools of typical size (about 600 bytes).
func big(t testing.TB, servers, tools int) []*offered {
	schema := `{"type":"object","properties":{"path":{"type":"string","description":"` + strings.Repeat("where it is ", 20) + `"}},"required":["path"]}`
	var out []*offered
	for s := range servers {
		o := server(t, fmt.Sprintf("server%d", s), s)
		var raws []string
		for i := range tools {
			raws = append(raws, fmt.Sprintf(`{"name":"tool_%d","description":"%s","inputSchema":%s}`, i, strings.Repeat("does a thing ", 15), schema))
		}
		out = append(out, o.add(protocol.Tools, raws...))
	}
	return out
}

// BenchmarkToolsList lists 1000 tools of 20 servers, compared with writing the same bytes.
func BenchmarkToolsList(b *testing.B) {
	v := whole(standard(stylePrefix), big(b, 20, 50)...)
	static, _ := v.Page(protocol.Tools, protocol.EraLegacy, "")
	b.Run("catalog", func(b *testing.B) {
		b.SetBytes(int64(len(static)))
		b.ReportAllocs()
		for b.Loop() {
			result, _ := v.Page(protocol.Tools, protocol.EraLegacy, "")
			_, _ = io.Discard.Write(result)
		}
	})
	b.Run("static", func(b *testing.B) {
		b.SetBytes(int64(len(static)))
		for b.Loop() {
			_, _ = io.Discard.Write(static)
		}
	})
}

// BenchmarkBuild builds a snapshot of 10 000 tools of 20 servers from scratch, and after one server's list has
// changed.
func BenchmarkBuild(b *testing.B) {
	servers := big(b, 20, 500)
	b.Run("anew", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			snapshot(standard(stylePrefix), servers...)
		}
	})
	b.Run("one changed", func(b *testing.B) {
		previous := snapshot(standard(stylePrefix), servers...)
		b.ReportAllocs()
		for b.Loop() {
			servers[3].add(protocol.Tools) // a new slice
			previous = following(previous, standard(stylePrefix), servers...)
		}
	})
}

func BenchmarkTool(b *testing.B) {
	v := whole(standard(stylePrefix), big(b, 20, 50)...)
	for _, name := range []string{"server7_tool_7", "server7:tool_7", "absent"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Tool(name)
			}
		})
	}
}

// BenchmarkRewriteResult rewrites a result with a text of 1 MiB, without and with a resource link after the text.
func BenchmarkRewriteResult(b *testing.B) {
	v := whole(standard(stylePrefix), server(b, "files", 0).resources("file:///a"))
	text := `{"type":"text","text":"` + strings.Repeat(`some text, \"quoted\" and \u00e9scaped; `, 1<<20/40) + `"}`
	for name, content := range map[string]string{"text": text, "text and link": text + `,{"type":"resource_link","uri":"file:///a"}`} {
		f := result(b, `{"content":[`+content+`]}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(f.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				RewriteResult(v, v.Servers()[0], protocol.MethodToolsCall, f)
			}
		})
	}
}

// BenchmarkResource resolves a listed URI, an expansion of the last of 200 templates, and an unknown URI.
func BenchmarkResource(b *testing.B) {
	var servers []*offered
	for s := range 20 {
		o := server(b, fmt.Sprintf("server%d", s), s).resources("file:///a")
		for i := range 10 {
			o.templates(fmt.Sprintf("db%d://%d/{table}/{id}", s, i))
		}
		servers = append(servers, o)
	}
	v := whole(standard(stylePrefix), servers...)
	for name, uri := range map[string]string{
		"listed": "resource://server9/file:///a", "template": "resource://server9/db9://9/users/1", "raw template": "db9://9/users/1", "unknown": "nope://9/users/1",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = v.Resource(uri)
			}
		})
	}
}
