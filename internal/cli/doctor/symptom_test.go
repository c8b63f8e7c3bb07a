package doctor

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// What a server does wrong about compression is explained, with what to change.
func TestExplainEncodings(t *testing.T) {
	for reason, want := range map[string][2]string{
		`the encoding of the response is not supported: Content-Encoding "br"; set the server, or the proxy in front of it, to respect Accept-Encoding`: {
			"sends the encoding br without being asked", "set it to respect Accept-Encoding"},
		"read answer: the response cannot be decoded: the checksum of its gzip data is wrong":                                   {"compresses wrongly", "headers: {Accept-Encoding: identity}"},
		"the response decodes to too many bytes: 9 bytes of gzip decode to more than 999, the limit for a message is 100 bytes": {"compresses wrongly", "turn its compression off"},
	} {
		cause, todo := symptom{state: "waiting", reason: reason, server: config.Server{URLs: []string{"https://mcp.example.com/mcp"}}, command: []string{""}}.seen()
		if !strings.Contains(cause, want[0]) || !strings.Contains(todo, want[1]) {
			t.Errorf("%s:\n%s\n%s", reason, cause, todo)
		}
	}
}
