package admin

import "testing"

// TestNotReady checks the texts that explain why a gateway is not ready.
func TestNotReady(t *testing.T) {
	for _, c := range []struct {
		code int
		body string
		want string
	}{
		{503, `{"ready":false,"draining":true,"waiting":["files"]}`, "the gateway is shutting down"},
		{503, `{"ready":false,"waiting":["files","git"]}`, "the gateway is not ready: it is waiting for files, git"},
		{503, `{"ready":false}`, "the gateway is not ready"},
		{502, "bad \x1b[31mgateway", `the gateway answers with HTTP 502: "bad \x1b[31mgateway"`},
	} {
		if got := notReady(c.code, []byte(c.body)); got != c.want {
			t.Errorf("HTTP %d %s: %q, want %q", c.code, c.body, got, c.want)
		}
	}
}
