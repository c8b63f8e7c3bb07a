package actors

import (
	"strings"
	"testing"

	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream/pipe"
)

// Content types that a client's version does not define are converted to text.
func TestContentForOlderClients(t *testing.T) {
	const content = `{"content":[{"type":"audio","mimeType":"audio/wav","data":"QUJD"},{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"new"}],"structuredContent":{"x":1}}`
	server := &actortest.Server{Tools: []string{"make"}}
	server.Handle = func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(content)))
	}
	w := startHTTP(t, map[string]*actortest.Server{"one": server}, nil)
	const (
		sound, soundText = `{"type":"audio","mimeType":"audio/wav","data":"QUJD"}`, `{"type":"text","text":"[audio: audio/wav, 3 bytes]"}`
		link, linkText   = `{"type":"resource_link","uri":"resource://one/file:///a","name":"a"}`, `{"type":"text","text":"a: resource://one/file:///a"}`
	)
	for version, want := range map[string]string{
		"2024-11-05": soundText + `,` + linkText,
		"2025-03-26": sound + `,` + linkText,
		"2025-06-18": sound + `,` + link,
		"2025-11-25": sound + `,` + link,
	} {
		id := w.do("POST", "/mcp", strings.Replace(initializeFrame, "2025-11-25", version, 1)).session
		got := w.do("POST", "/mcp", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"one_make"}}`, "Mcp-Session-Id", id)
		if want := `{"jsonrpc":"2.0","id":5,"result":{"content":[` + want + `,{"type":"new"}],"structuredContent":{"x":1}}}`; got.body != want {
			t.Errorf("%s: got %s, want %s", version, got.body, want)
		}
	}
}
