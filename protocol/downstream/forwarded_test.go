package downstream

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Only configured headers are forwarded. A request that repeats one of them is refused.
func TestForwardedHeaders(t *testing.T) {
	var got []http.Header
	handler := handlerFunc{post: func(x *Exchange) { got = append(got, x.Origin.Forwarded); echo(x) }}
	s, address := serve(t, handler, Options{}, testLimits)
	for _, c := range []struct {
		name   string
		keep   []string
		lines  []string
		status int
		want   string
	}{
		{"nothing", nil, []string{"X-Token: a", "Authorization: b"}, 200, "map[]"},
		{"one of several", []string{"x-token"}, []string{"X-TOKEN:  a b ", "Authorization: b"}, 200, "map[X-Token:[a b]]"},
		{"absent", []string{"X-Token"}, []string{"Authorization: b"}, 200, "map[]"},
		{"empty", []string{"X-Token"}, []string{"X-Token:"}, 200, "map[]"},
		{"twice", []string{"X-Token"}, []string{"X-Token: a", "x-token: b"}, 400, ""},
		{"twice, of another", []string{"X-Token"}, []string{"X-Other: a", "X-Other: b"}, 200, "map[]"},
		{"control characters", []string{"X-Token"}, []string{"X-Token: a\x01b"}, 400, ""},
		{"a megabyte", []string{"X-Token"}, []string{"X-Token: " + strings.Repeat("a", 1<<20)}, 431, ""},
		{"Authorization", []string{"Authorization"}, []string{"authorization: Bearer x"}, 200, "map[Authorization:[Bearer x]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got = nil
			s.SetForwarded(c.keep)
			client := dial(t, address)
			client.send(postText(ping, c.lines...))
			if r, body := client.body(); r.StatusCode != c.status {
				t.Fatalf("answered %d %.200s, want %d", r.StatusCode, body, c.status)
			}
			if c.status == 200 && (len(got) != 1 || fmt.Sprint(got[0]) != c.want) {
				t.Errorf("forwarded %v, want %s", got, c.want)
			}
			if c.status != 200 && len(got) != 0 {
				t.Error("the refused request was handled")
			}
		})
	}
}

// Attack 96: trailers are not treated as headers, because they were not checked, and because a proxy that removes or sets a
// header does not do the same with trailers.
func TestAttack96HeaderInTrailers(t *testing.T) {
	var got Origin
	handler := handlerFunc{post: func(x *Exchange) { got = x.Origin; echo(x) }}
	s, address := serve(t, handler, Options{}, testLimits)
	s.SetForwarded([]string{"X-Token"})
	for _, declared := range []string{"", "Trailer: X-Token, Mcp-Name\r\n"} {
		client := dial(t, address)
		client.send(fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: 2026-07-28\r\nTransfer-Encoding: chunked\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Token: a\r\nMcp-Name: b\r\n\r\n",
			declared, len(ping), ping))
		if r, body := client.body(); r.StatusCode != http.StatusOK {
			t.Fatalf("answered %d %.200s", r.StatusCode, body)
		}
		if len(got.Forwarded) != 0 || got.Header.Get("Mcp-Name") != "" {
			t.Errorf("taken from trailers: %v %v", got.Forwarded, got.Header)
		}
	}
}
