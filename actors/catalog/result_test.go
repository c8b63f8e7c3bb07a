package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// S3.3.1, S4.4.2: URIs in resource links, embedded resources and contents become public. Text, blobs and everything
// else stay unchanged.
func TestRewriteResult(t *testing.T) {
	// S0.5.4, S1.66
	const big = `{"type":"text","text":"resource://x \"uri\":\"file:///a\""}`
	for _, style := range styles {
		v := whole(standard(style), server(t, "files", 0).resources("file:///a").templates("file:///t/{x}"))
		listedURI, expansion := both("files", "file:///a")[style], both("files", "file:///t/1")[style]
		prefixed := "resource://files/file:///other" // not listed: the style that always names the server
		for _, tt := range []struct {
			name, in, want string
			method         protocol.Method
		}{
			{"link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"n"}]}`,
				`{"content":[{"type":"resource_link","uri":"` + listedURI + `","name":"n"}]}`, protocol.MethodToolsCall},
			{"all kinds", `{"content":[` + big + `, {"uri" : "file:///t/1", "type":"resource_link"} ,{"type":"resource","resource":{"text":"file:///a","uri":"file:///other"}}],"structuredContent":{"uri":"file:///a"}}`,
				`{"content":[` + big + `, {"uri" : "` + expansion + `", "type":"resource_link"} ,{"type":"resource","resource":{"text":"file:///a","uri":"` + prefixed + `"}}],"structuredContent":{"uri":"file:///a"}}`,
				protocol.MethodToolsCall},
			{"escaped", `{"content":[{"type":"\u0072esource_link","\u0075ri":"file:\/\/\/a"}]}`,
				`{"content":[{"type":"\u0072esource_link","\u0075ri":"` + listedURI + `"}]}`, protocol.MethodToolsCall},
			{"a text with a uri", `{"content":[{"type":"text","text":"t","uri":"file:///a"}]}`, "", protocol.MethodToolsCall},
			{"wrong shapes", `{"content":[7,null,"resource",{"type":"resource","resource":[]},{"type":"resource","resource":{"uri":7}},{"type":"resource_link"},{"type":"resource"}],"messages":{}}`, "", protocol.MethodToolsCall},
			{"content is not an array", `{"content":"resource_link"}`, "", protocol.MethodToolsCall},
			{"no content", `{"isError":true}`, "", protocol.MethodToolsCall},
			{"prompt", `{"description":"resource","messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"file:///a","mimeType":"x"}}},{"role":"user","content":{"type":"text","text":"file:///a"}}]}`,
				`{"description":"resource","messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"` + listedURI + `","mimeType":"x"}}},{"role":"user","content":{"type":"text","text":"file:///a"}}]}`, protocol.MethodPromptsGet},
			{"prompt with several blocks", `{"messages":[{"role":"user","content":[{"type":"resource_link","uri":"file:///a"}]}]}`,
				`{"messages":[{"role":"user","content":[{"type":"resource_link","uri":"` + listedURI + `"}]}]}`, protocol.MethodPromptsGet},
			{"read", `{"contents":[{"uri":"file:///a","text":"file:///a"},{"blob":"AA==","uri":"file:///t/1"}]}`,
				`{"contents":[{"uri":"` + listedURI + `","text":"file:///a"},{"blob":"AA==","uri":"` + expansion + `"}]}`, protocol.MethodResourcesRead},
			{"read without contents", `{"contents":[]}`, "", protocol.MethodResourcesRead},
			{"another method", `{"content":[{"type":"resource_link","uri":"file:///a"}],"contents":[{"uri":"file:///a"}]}`, "", protocol.MethodCompletionComplete},
		} {
			t.Run(style+" "+tt.name, func(t *testing.T) {
				f := result(t, tt.in)
				before := string(f.Raw)
				edits := RewriteResult(v, v.Servers()[0], tt.method, f)
				want := tt.want
				if want == "" {
					want = tt.in
				}
				got := string(rawjson.AppendEdited(nil, f.Raw, edits...))
				if want = `{"jsonrpc":"2.0","id":1,"result":` + want + `}`; got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				if string(f.Raw) != before {
					t.Error("the frame was modified")
				}
			})
		}
	}
	pass, _ := snapshot(standard(stylePrefix), server(t, "files", 0).resources("file:///a")).View(Key{Server: "files"})
	if edits := RewriteResult(pass, pass.Servers()[0], protocol.MethodResourcesRead, result(t, `{"contents":[{"uri":"file:///a"}]}`)); edits != nil {
		t.Errorf("%d edits in a view that passes through, want none", len(edits))
	}
	failed := &protocol.Frame{}
	if err := failed.Parse([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\"resource"}}`)); err != nil {
		t.Fatal(err)
	}
	if edits := RewriteResult(pass, pass.Servers()[0], protocol.MethodToolsCall, failed); edits != nil {
		t.Error("an error was rewritten")
	}
}

// Every rewritten URI resolves to its original, also in a result with more than maxStyled URIs.
func TestRewrittenURIsResolve(t *testing.T) {
	for _, style := range append([]string{styleOriginal}, styles...) {
		v := whole(standard(style), server(t, "a", 0).templates("f:///{x}", "g:///{+x}"), server(t, "b", 1).templates("f:///{x}").resources("h:///1"))
		var in []string
		for i := range 2 * maxStyled {
			in = append(in, fmt.Sprintf(`{"uri":"f:///%d"}`, i))
		}
		for _, s := range v.Servers() {
			f := result(t, `{"contents":[`+strings.Join(in, ",")+`]}`)
			var out struct {
				Result struct{ Contents []struct{ URI string } }
			}
			if err := json.Unmarshal(rawjson.AppendEdited(nil, f.Raw, RewriteResult(v, s, protocol.MethodResourcesRead, f)...), &out); err != nil {
				t.Fatal(err)
			}
			for i, c := range out.Result.Contents {
				if got, want := found(v, c.URI), fmt.Sprintf("%s f:///%d", s.Name, i); got != want {
					t.Fatalf("%s: %q leads to %s, want %s", style, c.URI, got, want)
				}
			}
		}
	}
}

// For any result, the edits apply, the output is valid JSON, and every edit inserts a string.
func FuzzRewriteResult(f *testing.F) {
	f.Add(`{"content":[{"type":"resource_link","uri":"file:///a"}]}`)
	f.Add(`{"contents":[{"uri":"file:///a","uri":"file:///b"}]}`)
	f.Add(`{"messages":[{"content":[{"type":"resource","resource":{"uri":"x"}}]}]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"a"},"resource":{"uri":"b"}}]}`)
	v := whole(standard(styleUnderscore), server(f, "files", 0).resources("file:///a").templates("x{y}"))
	f.Fuzz(func(t *testing.T, text string) {
		frame := new(protocol.Frame)
		if frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":`+text+`}`)) != nil {
			return
		}
		for _, m := range []protocol.Method{protocol.MethodToolsCall, protocol.MethodPromptsGet, protocol.MethodResourcesRead} {
			edits := RewriteResult(v, v.Servers()[0], m, frame)
			if out := rawjson.AppendEdited(nil, frame.Raw, edits...); !json.Valid(out) {
				t.Errorf("%s became %s", text, out)
			}
			for _, e := range edits {
				if _, ok := rawjson.Unquote(e.With); !ok {
					t.Errorf("%s: the edit inserts %q, want a string", text, e.With)
				}
			}
		}
	})
}
