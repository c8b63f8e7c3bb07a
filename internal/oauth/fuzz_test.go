package oauth

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/ssrf"
)

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://a.example/x", scope="a b", error="insufficient_scope"`)
	f.Add(`Basic realm="x", Bearer error=invalid_token`)
	f.Add(`Negotiate abc==, bearer scope="\"a\\ b"`)
	f.Fuzz(func(t *testing.T, header string) {
		c := ParseChallenge([]string{header, header})
		if !c.Bearer && (c.Metadata != "" || c.Error != "" || c.Scopes != nil) {
			t.Errorf("fields are set although there is no bearer challenge: %+v", c)
		}
		if len(c.Metadata) > maxURL || len(c.Scopes) > maxScopes || oauthCode(c.Error) != c.Error {
			t.Errorf("limits exceeded: %+v", c)
		}
		if got := Scopes(strings.Join(c.Scopes, " ")); !slices.Equal(got, c.Scopes) {
			t.Errorf("scopes %q contain invalid ones, want %q", c.Scopes, got)
		}
	})
}

func FuzzTokenAnswer(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r","scope":"a b"}`))
	f.Add([]byte(`{"access_token":"a\r\nX: y","expires_in":"1e300"}`))
	f.Add([]byte(`{"error":"invalid_grant"}`))
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		token, err := parseToken("test", body, now)
		if err == nil && (!isToken(token.Access) || token.Refresh != "" && !isToken(token.Refresh)) {
			t.Error("accepted a token that cannot be sent in a header")
		}
		if err == nil && !token.Expires.IsZero() && (!token.Expires.After(now) || token.Expires.Sub(now) > maxLife) {
			t.Errorf("the token expires at %v, want a time within %v from %v", token.Expires, maxLife, now)
		}
		form := url.Values{"refresh_token": {"r3fresh"}}
		said := oauthError("test", 400, body, Client{Secret: "s3cret"}, form).Error()
		if strings.Contains(said, "r3fresh") || strings.Contains(said, "s3cret") || strings.ContainsAny(said, "\r\n") {
			t.Errorf("error contains a secret or a line break: %q", said)
		}
	})
}

func FuzzDeviceAnswer(f *testing.F) {
	f.Add([]byte(`{"device_code":"d","user_code":"ABCD","verification_uri":"https://a.example","expires_in":600,"interval":5}`))
	f.Add([]byte(`{"device_code":"d","user_code":"A\u0007","verification_url":"x","interval":-1}`))
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		_, d, err := parseDevice("test", body, now)
		if err == nil && (d.Interval < time.Second || d.Interval > pollAtMost || d.Expires.Sub(now) > deviceAtMost || d.URL == "" || shorten(d.UserCode) != d.UserCode) {
			t.Errorf("limits exceeded: %+v", d)
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"https://a.example","authorization_endpoint":"https://a.example/a","token_endpoint":"https://a.example/t","code_challenge_methods_supported":["S256"]}`), "https://a.example/mcp")
	f.Add([]byte(`{"issuer":"https://a.example","token_endpoint":"javascript:alert(1)"}`), "https://a.example/m")
	guard, err := ssrf.New(ssrf.Options{})
	if err != nil {
		f.Fatal(err)
	}
	const server = "https://a.example/mcp"
	own, _ := url.Parse(server)
	a := &Agent{Server: server, Client: guard.ClientFor(server), Now: time.Now}
	f.Fuzz(func(t *testing.T, body []byte, resource string) {
		if covers(resource, own) && !strings.EqualFold(resource[:min(len(resource), len("https://a.example"))], "https://a.example") {
			t.Errorf("covers accepts %q, which has another host", resource)
		}
		var meta serverMetadata
		if json.Unmarshal(body, &meta) != nil {
			return
		}
		site, err := a.newAuthServer(&meta)
		if err != nil {
			return
		}
		for _, e := range []string{site.Authorize, site.Token, site.Register, site.Device, site.Revoke} {
			if e != "" && a.Client.Check(e) != nil {
				t.Errorf("accepted a forbidden endpoint: %q", e)
			}
		}
	})
}
