package downstream

import "testing"

func TestCutRoute(t *testing.T) {
	for path, want := range map[string]struct {
		prefix string
		found  bool
	}{
		"/mcp": {"", true}, "/sse": {"", true}, "/messages": {"", true}, "/s/files/mcp": {"/s/files", true}, "/s/files/messages": {"/s/files", true},
		"/": {"/", false}, "/mcpx": {"/mcpx", false}, "/healthz": {"/healthz", false}, "/mcp/": {"/mcp/", false},
	} {
		if prefix, found := CutRoute(path); prefix != want.prefix || found != want.found {
			t.Errorf("%s: %q, %v", path, prefix, found)
		}
	}
	if got := MessagesPath("/s/files/sse"); got != "/s/files/messages" || !RouteMessages.Ends(got) || RouteSSE.Ends(got) {
		t.Errorf("messages go to %q", got)
	}
}
