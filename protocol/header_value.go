package protocol

import (
	"encoding/base64"
	"strings"
)

// HeaderField is an HTTP header. Value is encoded, ready to be sent.
type HeaderField struct{ Name, Value string }

// Delimiters of a value in base64, for text that a header cannot carry as it is.
// MCP 2026-07-28, basic/transports/streamable-http, value encoding
const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// EncodeHeaderValue encodes text as the value of Mcp-Name or an Mcp-Param header. It returns text unchanged if possible, as
// some servers compare without decoding. It uses base64 for text with characters other than visible ASCII, space and tab,
// with white space at either end, or that looks encoded.
func EncodeHeaderValue(text string) string {
	if headerText(text) && trimHeader(text) == text && !encoded(text) {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// DecodeHeaderValue decodes a value made by EncodeHeaderValue. It ignores surrounding white space. It reports false for
// forbidden characters and for base64 with a wrong alphabet, padding or trailing bits.
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

// headerText reports whether a header can carry value unencoded. RFC 9110, section 5.5, without obs-text
func headerText(value string) bool {
	for i := range len(value) {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

func trimHeader(value string) string { return strings.Trim(value, " \t") }
