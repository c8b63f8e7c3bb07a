package remote

import (
	"bytes"
	"net/http"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/stream"
)

// lostTexts is what servers say, word for word but for case, of a session they do not know, with which status. MCP wants
// 404 for that, whatever is said; these say it with another one, or in a JSON-RPC error that has an id.
var lostTexts = map[string]int{
	"session not found":                         400, // SDKs for TypeScript, Python, C#, Kotlin, Go; for Java with the id behind it
	"not found: session not found":              400, // Rust
	"unauthorized: session not found":           401, // Rust
	"not found: invalid or expired session id":  400, // Python, Swift
	"not found: session has been terminated":    400, // Python
	"bad request: no valid session id provided": 400, // the example of the SDK for TypeScript, found in most servers made with it; Python until 1.9
	"no valid session id provided":              400,
	"invalid or missing session id":             400, // the same example
	"bad request: server not initialized":       400, // TypeScript: restarted, with one transport for everybody
	"invalid session id":                        400, // mcp-go
	"session terminated":                        400, // mcp-go
	"session is closing":                        400, // Go
}

// isLost reports whether a body that is no answer to the request says that the server does not know the session the
// request carried: 404 by itself, other statuses by their words.
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

// lostAnswer reports the same of an error with an id. With the id of the request it is the answer, unless status, code
// and words all speak of the session: a tool may have sessions of its own.
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

// mayBeLost reports whether servers use an error's code for a session they do not know: -32600, or one of their own.
func mayBeLost(f *protocol.Frame) bool {
	code, ok := protocol.ErrorNumber(f)
	return ok && (code == -32600 || code >= -32099 && code <= -32000)
}

// saysLost compares what a server says. A method with the word in it, which servers like to repeat, is no reason.
func saysLost(c *exchange, status int, text string) bool {
	if strings.Contains(strings.ToLower(c.Method), "session") {
		return false
	}
	text = strings.ToLower(strings.TrimSuffix(strings.Trim(text, stream.Whitespace), ": "+c.session))
	known := lostTexts[strings.TrimSuffix(text, ".")]
	return known == status || status == http.StatusNotFound && (known != 0 || beginsLost(text))
}

// beginsLost reports whether a text explains further what one of lostTexts says, as this gateway does: "session not found: it ended …".
func beginsLost(text string) bool {
	for known := range lostTexts {
		if rest, ok := strings.CutPrefix(text, known); ok && rest != "" && strings.ContainsRune(":;.,(", rune(rest[0])) {
			return true
		}
	}
	return false
}
