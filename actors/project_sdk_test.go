package actors

import (
	"net/http"
	"strings"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"goblin-actor/internal/actortest"
)

// The official Go SDK's client uses a project over streamable HTTP by path and header, and over HTTP+SSE.
func TestProjectOfSDKClient(t *testing.T) {
	w := startHTTP(t, map[string]*actortest.Server{"one": answeringServer("a", "hidden"), "two": answeringServer("b")}, twoProjects)
	inHeader := &http.Client{Transport: headerTransport{"Goblin-Project", "alpha"}}
	for name, transport := range map[string]gosdk.Transport{
		"path":   &gosdk.StreamableClientTransport{Endpoint: w.url + "/p/alpha/mcp"},
		"header": &gosdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: inHeader},
		"sse":    &gosdk.SSEClientTransport{Endpoint: w.url + "/p/alpha/sse"},
	} {
		session, err := gosdk.NewClient(&gosdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "one_a" {
			t.Errorf("%s: tools %v, %v", name, list, err)
		}
		if _, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "one_a", Arguments: map[string]any{}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, tool := range []string{"one_hidden", "two_b"} {
			if _, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: tool, Arguments: map[string]any{}}); err == nil || !strings.Contains(err.Error(), "Tool not found: "+tool) {
				t.Errorf("%s: %s: %v", name, tool, err)
			}
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	if _, err := gosdk.NewClient(&gosdk.Implementation{Name: "t"}, nil).Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: w.url + "/p/nope/mcp"}, nil); err == nil {
		t.Error("connected to an unknown project")
	}
}

// headerTransport is an HTTP transport that adds a header to every request.
type headerTransport [2]string

func (a headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(a[0], a[1])
	return http.DefaultTransport.RoundTrip(r)
}
