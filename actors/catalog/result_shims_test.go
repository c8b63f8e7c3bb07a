package catalog

import (
	"strings"
	"testing"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Content that the client's version does not define becomes text.
func TestRewriteResultForOlderClients(t *testing.T) {
	const (
		sound    = `{"type":"audio","mimeType":"audio/wav","data":"QUJDRA==","annotations":{"audience":["user"]}}`
		asText   = `{"type":"text","text":"[audio: audio/wav, 4 bytes]","annotations":{"audience":["user"]}}`
		link     = `{"uri":"file:///a", "type":"resource_link","name":"a \"b\"","mimeType":"text/plain"}`
		linkText = `{"type":"text","text":"a \"b\" (text/plain): PUBLIC"}`
		renamed  = `{"uri":"PUBLIC", "type":"resource_link","name":"a \"b\"","mimeType":"text/plain"}`
	)
	newest := protocol.LatestLegacy
	tests := []struct {
		name, version, in, want string // want "": unchanged
		method                  protocol.Method
	}{
		{"audio", "2024-11-05", `{"content":[{"type":"text","text":"audio"},` + sound + `],"structuredContent":{"type":"audio"}}`,
			`{"content":[{"type":"text","text":"audio"},` + asText + `],"structuredContent":{"type":"audio"}}`, protocol.MethodToolsCall},
		{"audio is known", "2025-03-26", `{"content":[` + sound + `]}`, "", protocol.MethodToolsCall},
		{"audio, escaped", "2024-11-05", `{"content":[{"\u0074ype":"\u0061udio","data":"a\/b="}]}`,
			`{"content":[{"type":"text","text":"[audio, 2 bytes]"}]}`, protocol.MethodToolsCall},
		{"audio without data", "2024-11-05", `{"content":[{"type":"audio","mimeType":7}]}`, `{"content":[{"type":"text","text":"[audio]"}]}`, protocol.MethodToolsCall},
		{"link", "2025-03-26", `{"content":[` + link + `,` + sound + `]}`, `{"content":[` + linkText + `,` + sound + `]}`, protocol.MethodToolsCall},
		{"both", "2024-11-05", `{"content":[` + link + `,` + sound + `]}`, `{"content":[` + linkText + `,` + asText + `]}`, protocol.MethodToolsCall},
		{"link is known", "2025-06-18", `{"content":[` + link + `]}`, `{"content":[` + renamed + `]}`, protocol.MethodToolsCall},
		{"link, newest", newest, `{"content":[` + link + `]}`, `{"content":[` + renamed + `]}`, protocol.MethodToolsCall},
		{"link without name and type", "2024-11-05", `{"content":[{"type":"resource_link","uri":"file:///a"},{"type":"resource_link"},{"type":"resource_link","uri":7}]}`,
			`{"content":[{"type":"text","text":"PUBLIC"},{"type":"resource_link"},{"type":"resource_link","uri":7}]}`, protocol.MethodToolsCall},
		{"embedded resources are in all versions", "2024-11-05", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"t"}}]}`,
			`{"content":[{"type":"resource","resource":{"uri":"PUBLIC","text":"t"}}]}`, protocol.MethodToolsCall},
		{"unknown types stay", "2024-11-05", `{"content":[{"type":"audio_video","data":"QUJD"},{"type":"hologram"}],"structuredContent":{"a":1}}`, "", protocol.MethodToolsCall},
		{"prompt", "2024-11-05", `{"messages":[{"role":"user","content":` + sound + `},{"role":"user","content":` + link + `}]}`,
			`{"messages":[{"role":"user","content":` + asText + `},{"role":"user","content":` + linkText + `}]}`, protocol.MethodPromptsGet},
		{"another method", "2024-11-05", `{"content":[` + sound + `]}`, "", protocol.MethodCompletionComplete},
		{"wrong shapes", "2024-11-05", `{"content":[7,"audio",null,{"type":["audio"]}],"messages":"audio"}`, "", protocol.MethodToolsCall},
	}
	for _, style := range styles {
		v := whole(standard(style), server(t, "files", 0).resources("file:///a"))
		public := both("files", "file:///a")[style]
		for _, tt := range tests {
			checkShim(t, style+" "+tt.name, v, tt.version, tt.method, tt.in, strings.ReplaceAll(tt.want, "PUBLIC", public))
		}
	}
	alone := whole(Naming{Namespace: standard("original").Namespace, URIStyle: "original", PageSize: 10}, server(t, "files", 0).resources("file:///a"))
	alone.pass = true
	for _, tt := range tests {
		checkShim(t, "pass "+tt.name, alone, tt.version, tt.method, tt.in, strings.ReplaceAll(tt.want, "PUBLIC", "file:///a"))
	}
}

func checkShim(t *testing.T, name string, v *View, version string, m protocol.Method, in, want string) {
	t.Helper()
	f := result(t, in)
	if want == "" {
		want = in
	}
	want = `{"jsonrpc":"2.0","id":1,"result":` + want + `}`
	got := string(rawjson.AppendEdited(nil, f.Raw, RewriteResultFor(v, v.Servers()[0], version, m, f)...))
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
	}
	if err := protocol.Valid([]byte(got)); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
