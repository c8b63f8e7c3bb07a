package wire

import (
	"fmt"
	"strings"
)

// LegacyVersion is the protocol version of legacy clients and servers.
const LegacyVersion = "2025-11-25"

// ModernVersion is the protocol version of modern clients and servers.
const ModernVersion = "2026-07-28"

// InitializeParams holds the params of initialize.
const InitializeParams = `{"protocolVersion":"` + LegacyVersion + `","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`

// Handshake initializes a session and stores the session's id in w.Session.
func (w *Conn) Handshake(host, path string) error {
	body, err := w.Exchange(NewRequest(host, path, "", "", "initialize", InitializeParams).With(w.Headers).Text)
	if err := w.Expect("initialize", 200, body, err); err != nil {
		return err
	}
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	body, err = w.Exchange(InsertHeaders([]byte(PostHeader(host, path, w.Session, LegacyVersion, len(note))+note), w.Headers))
	return w.Expect("notifications/initialized", 202, body, err)
}

// Expect returns an error if the last exchange failed, or if its response does not have the given status.
func (w *Conn) Expect(what string, status int, body []byte, err error) error {
	if err == nil && w.Status != status {
		err = fmt.Errorf("status %d, expected %d: %.200q", w.Status, status, body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// NewModernRequest returns a POST of one 2026-07-28 request. params must lack the closing brace. name is the item that
// the request is about, or "".
func NewModernRequest(host, path, method, name, params string) *Request {
	if params != "{" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		FirstID, method, params, ModernVersion)
	own := "Mcp-Method: " + method + "\r\n"
	if name != "" {
		own += "Mcp-Name: " + name + "\r\n"
	}
	head := PostHeader(host, path, "", ModernVersion, len(body))
	return RequestOf(strings.Replace(head, "Content-Length:", own+"Content-Length:", 1), body)
}

// NewModernCall returns a POST of a 2026-07-28 tools/call.
func NewModernCall(host, path, tool string) *Request {
	return NewModernRequest(host, path, "tools/call", tool, strings.TrimSuffix(CallParams(tool), "}"))
}
