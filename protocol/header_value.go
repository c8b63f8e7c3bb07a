package protocol

import (
	"encoding/base64"
	"strings"
)

// HeaderField is one HTTP header, its value ready to be sent.
type HeaderField struct{ Name, Value string }

// A value that cannot stand in a header as it is stands there in base64 between these.
// MCP 2026-07-28, basic/transports/streamable-http, value encoding
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// EncodeHeaderValue returns text as the value of Mcp-Name or an Mcp-Param header: as it is where that is possible, since some
// servers compare without decoding, else in base64: for other characters than visible ASCII, space and tab, white
// space at the ends, and text that looks encoded.
func EncodeHeaderValue(text string) string {
	if headerText(text) && trimHeader(text) == text && !encoded(text) {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// DecodeHeaderValue undoes EncodeHeaderValue; white space around the value is not part of it. It reports false for
// characters that must not stand there and for base64 that is not exactly right (alphabet, padding, trailing bits).
func DecodeHeaderValue(value string) (string, bool) {
	value = trimHeader(value)
	if !headerText(value) {
		return "", false
	}
	if !encoded(value) {
		return value, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(value[len(encodedPrefix) : len(value)-len(encodedSuffix)])
	return string(text), err == nil
}

func encoded(value string) bool {
	return len(value) >= len(encodedPrefix)+len(encodedSuffix) && strings.HasPrefix(value, encodedPrefix) && strings.HasSuffix(value, encodedSuffix)
}

// headerText reports whether all of value may stand in a header as it is. // RFC 9110, 5.5, without obs-text
func headerText(value string) bool {
	for i := range len(value) {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

func trimHeader(value string) string { return strings.Trim(value, " \t") }
