package doctor

import (
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// Compression errors are explained, and the fix says what to change.
func TestExplainEncodings(t *testing.T) {
	for reason, want := range map[string][2]string{
		`the encoding of the response is not supported: Content-Encoding "br"; set the server, or the proxy in front of it, to respect Accept-Encoding`: {
			"uses the encoding br, which the gateway does not accept", "respect Accept-Encoding"},
		"read answer: the response cannot be decoded: the checksum of its gzip data is wrong":                                  {"sends invalid compressed data", "headers: {Accept-Encoding: identity}"},
		"the response decodes to too many bytes: 9 bytes of gzip decode to at least 999 bytes; the limit for a message is 100": {"expands to far more", "raise `limits.maxMessageBytes`"},
	} {
		cause, fix := symptom{state: "waiting", reason: reason, server: config.Server{URLs: []string{"https://mcp.example.com/mcp"}}, command: []string{""}}.diagnose()
		if !strings.Contains(cause, want[0]) || !strings.Contains(fix, want[1]) {
			t.Errorf("%s:\n%s\n%s", reason, cause, fix)
		}
	}
}

// A process that is still starting when doctor's patience ends gets a cause and a fix.
func TestExplainSlowProcess(t *testing.T) {
	for _, phase := range []message.Phase{message.Connecting, message.Handshaking, message.Syncing} {
		reason, _ := message.Starting(phase, 30*time.Second, "")
		s := symptom{state: "connecting", reason: reason, server: config.Server{Name: "files", Command: "npx"}, command: []string{"npx"}}
		if cause, fix := s.diagnose(); !strings.Contains(cause, "does not answer") || !strings.Contains(fix, "startTimeout") {
			t.Errorf("%s: cause %q, fix %q", s.reason, cause, fix)
		}
	}
}

// A warning about the URL is the first cause of a server that cannot be reached, and the last of one that was reached.
func TestExplainSuspiciousURL(t *testing.T) {
	d := diagnosis{report: config.Report{Warnings: []*config.Finding{
		{Path: "mcpServers.wiki.url", Message: "the host is a placeholder", Suspect: true},
		{Path: "mcpServers.wiki.headers.Authorization", Message: "is a placeholder", Suspect: true},
	}}}
	server := config.Server{Name: "wiki", Written: "wiki", URLs: []string{"https://your-host.example.com/mcp"}}
	for reason, want := range map[string][]string{
		"dial tcp: lookup your-host.example.com: no such host": {"url: ", "headers."},
		"the server answered with status 401":                  {"headers.", "", "url: "},
	} {
		got := symptom{state: "waiting", reason: reason, server: server, command: []string{""}, suspects: d.suspects(server)}.explain()
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %d causes", reason, got, len(want))
		}
		for i, prefix := range want {
			if !strings.HasPrefix(got[i].Cause, prefix) {
				t.Errorf("%s: cause %d is %q, want %q", reason, i, got[i].Cause, prefix)
			}
		}
	}
}
