package remote

import (
	"bytes"
	"net/http"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/stream"
)

// lostTexts maps the texts that servers send for an unknown session, in lower case, to the status that they send with
// the text. MCP requires 404 for that, with any text. These servers send another status, or a JSON-RPC error with an
// id.
var lostTexts = map[string]int{
	"session not found":                         400, // SDKs for TypeScript, Python, C#, Kotlin, Go; for Java with the id after it
	"not found: session not found":              400, // Rust
	"unauthorized: session not found":           401, // Rust
	"not found: invalid or expired session id":  400, // Python, Swift
	"not found: session has been terminated":    400, // Python
	"bad request: no valid session id provided": 400, // the example of the TypeScript SDK, copied into most servers that use it; Python until 1.9
	"no valid session id provided":              400,
	"invalid or missing session id":             400, // the same example
	"bad request: server not initialized":       400, // TypeScript: restarted, with one transport for all clients
	"invalid session id":                        400, // mcp-go
	"session terminated":                        400, // mcp-go
	"session is closing":                        400, // Go
}

// isLost reports whether a response without an answer to the request means that the server does not know the
// request's session: a 404 always does, any other 4xx status if its text says so.
func isLost(c *exchange, status int, body []byte) bool {
	if c.session == "" || status/100 != 4 {
		return false
	}
	if status == http.StatusNotFound {
		return true
	}
	body = protocol.Trim(body)
	var f protocol.Frame
	if f.Parse(body) != nil {
		return saysLost(c, status, string(body[:min(len(body), errorBodyBytes)]))
	}
	return f.Kind == protocol.KindError && mayBeLost(&f) && saysLost(c, status, errorText(&f))
}

// lostAnswer is like isLost, but for an error with an id. An error with the id of the request answers the request,
// unless the status, the code and the text all indicate an unknown session, because a tool may have sessions of its
// own.
func lostAnswer(c *exchange, status int, f *protocol.Frame) bool {
	if c.session == "" || status/100 != 4 || !mayBeLost(f) {
		return false
	}
	var asked protocol.Frame
	own := asked.Parse(c.Frame) == nil && bytes.Equal(asked.ID.Of(asked.Raw), f.ID.Of(f.Raw))
	return (!own || status == http.StatusNotFound) && saysLost(c, status, errorText(f))
}

func errorText(f *protocol.Frame) string {
	text, _ := rawjson.Unquote(rawjson.Member(f.Raw, f.Error, "message").Of(f.Raw))
	return text
}

// mayBeLost reports whether servers use an error's code for an unknown session: -32600, or an implementation-defined one.
func mayBeLost(f *protocol.Frame) bool {
	code, ok := protocol.ErrorNumber(f)
	return ok && (code == -32600 || code >= -32099 && code <= -32000)
}

// saysLost reports whether a text means an unknown session. Methods whose name contains "session" are excluded, since
// errors often quote them.
func saysLost(c *exchange, status int, text string) bool {
	if strings.Contains(strings.ToLower(c.Method), "session") {
		return false
	}
	text = strings.ToLower(strings.TrimSuffix(strings.Trim(text, stream.Whitespace), ": "+c.session))
	known := lostTexts[strings.TrimSuffix(text, ".")]
	return known == status || status == http.StatusNotFound && (known != 0 || beginsLost(text))
}

// beginsLost reports whether a text is one of lostTexts with an explanation, as this gateway sends it: "session not
// found: it ended …".
func beginsLost(text string) bool {
	for known := range lostTexts {
		if rest, ok := strings.CutPrefix(text, known); ok && rest != "" && strings.ContainsRune(":;.,(", rune(rest[0])) {
			return true
		}
	}
	return false
}
