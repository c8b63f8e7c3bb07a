package oauth_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/oauth"
	"goblin-actor/internal/ssrf"
)

const redirectURI = "http://127.0.0.1:4711/callback"

// agentOf returns an agent for the server at serverURL.
func agentOf(t *testing.T, serverURL string, c oauth.Config) *oauth.Agent {
	t.Helper()
	guard, err := ssrf.New(ssrf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &oauth.Agent{Server: serverURL, Client: guard.ClientFor(serverURL), Now: time.Now, Config: c}
}

func answerOf(q url.Values) oauth.AuthResponse {
	return oauth.AuthResponse{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Description: q.Get("error_description")}
}

// begin discovers the authorization server, registers, and starts a login.
func begin(t *testing.T, a *oauth.Agent, challenge []string) (*oauth.Login, error) {
	t.Helper()
	site, err := a.Discover(t.Context(), oauth.ParseChallenge(challenge))
	if err != nil {
		return nil, err
	}
	client, err := a.Register(t.Context(), site, redirectURI)
	if err != nil {
		return nil, err
	}
	return a.Authorize(site, client, site.Scopes, redirectURI)
}

// logIn performs a complete login and returns the token.
func logIn(t *testing.T, a *oauth.Agent, i *authtest.Issuer, challenge []string) (*oauth.Login, oauth.Token) {
	t.Helper()
	login, err := begin(t, a, challenge)
	if err != nil {
		t.Fatal(err)
	}
	token, err := a.Redeem(t.Context(), login, answerOf(i.Approve(t, login.URL)))
	if err != nil {
		t.Fatal(err)
	}
	return login, token
}

func TestLogInAndRefresh(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{})
	server := issuer.Protect(t, nil)
	server.Set(func(p *authtest.Protection) { p.Scopes = []string{"files:read"} })
	a := agentOf(t, server.URL, oauth.Config{})
	login, token := logIn(t, a, issuer, server.Challenge())
	if resource, scopes, ok := issuer.Valid(token.Access); !ok || resource != server.URL || !slices.Equal(scopes, []string{"files:read"}) {
		t.Fatalf("the token is for resource %q with scopes %v, valid %t", resource, scopes, ok)
	}
	if d := time.Until(token.Expires); d < 59*time.Minute || d > time.Hour {
		t.Errorf("the token expires in %v, want one hour", d)
	}
	next, err := a.Refresh(t.Context(), login.Site, login.Client, token)
	if err != nil {
		t.Fatal(err)
	}
	if next.Access == token.Access || next.Refresh == token.Refresh || !slices.Equal(next.Scopes, token.Scopes) {
		t.Error("Refresh must return new tokens with the old scopes")
	}
	if _, err = a.Refresh(t.Context(), login.Site, login.Client, token); !oauth.GrantEnded(err) {
		t.Errorf("Refresh with a used refresh token: got %v, want GrantEnded", err)
	}
	for _, r := range issuer.Seen("/token") {
		if r.Form.Get("resource") != server.URL {
			t.Errorf("token request without resource: %v", r.Form["grant_type"])
		}
	}
	if err := a.Revoke(t.Context(), login.Site, login.Client, next); err != nil {
		t.Error(err)
	}
}

func TestDiscover(t *testing.T) {
	for name, c := range map[string]struct {
		faults     authtest.Faults
		protection authtest.Protection
		endpoint   string // token endpoint
		bare       bool   // without a challenge
		want       error
	}{
		"by its challenge":                      {},
		"well-known, with the path":             {bare: true},
		"well-known, root":                      {protection: authtest.Protection{AtRoot: true}, bare: true},
		"a pointer to an unreachable URL":       {protection: authtest.Protection{Pointer: "http://127.0.0.1:1/nowhere"}, want: errNetwork},
		"issuer with a path":                    {faults: authtest.Faults{Path: "/tenant"}},
		"openid after the path":                 {faults: authtest.Faults{Path: "/tenant", OpenID: true}},
		"resource is the origin":                {protection: authtest.Protection{Resource: "origin"}},
		"resource is elsewhere":                 {protection: authtest.Protection{Resource: "https://other.example/mcp"}, want: oauth.ErrForeignResource},
		"resource is a sibling":                 {protection: authtest.Protection{Resource: "origin/mc"}, want: oauth.ErrForeignResource},
		"resource is below the server":          {protection: authtest.Protection{Resource: "origin/mcp/more"}, want: oauth.ErrForeignResource},
		"no authorization server":               {protection: authtest.Protection{Issuers: []string{}}, want: oauth.ErrNoLogin},
		"authorization server without metadata": {faults: authtest.Faults{NoMetadata: true}, want: oauth.ErrNoLogin},
		"another issuer":                        {faults: authtest.Faults{Issuer: "https://other.example"}, want: oauth.ErrForeignIssuer},
		"a private issuer":                      {protection: authtest.Protection{Issuers: []string{"https://10.0.0.1"}}, want: ssrf.ErrForbidden},
		"a token endpoint without https":        {endpoint: "http://login.example/token", want: ssrf.ErrForbidden},
		"endless metadata":                      {faults: authtest.Faults{Endless: true}, want: ssrf.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := authtest.New(t, c.faults)
			if c.endpoint != "" {
				issuer.SetMetadata("token_endpoint", c.endpoint)
			}
			server := issuer.Protect(t, nil)
			server.Set(func(p *authtest.Protection) {
				*p = c.protection
				if rest, ok := cutOrigin(p.Resource); ok {
					p.Resource = server.Origin + rest
				}
			})
			challenge := server.Challenge()
			if c.bare {
				challenge = nil
			}
			site, err := agentOf(t, server.URL, oauth.Config{}).Discover(t.Context(), oauth.ParseChallenge(challenge))
			if c.want == errNetwork {
				if !oauth.Temporary(err) {
					t.Fatalf("got %v, want a temporary error", err)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && (site.Issuer != issuer.URL || !site.S256) {
				t.Errorf("got %+v, want the issuer %s with S256", site, issuer.URL)
			}
		})
	}
}

var errNetwork = errors.New("network")

func cutOrigin(s string) (string, bool) {
	if len(s) >= 6 && s[:6] == "origin" {
		return s[6:], true
	}
	return "", false
}

// A server of 2025-03-26 is its own authorization server, with or without metadata.
func TestDiscoverWithoutResource(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{})
	a := agentOf(t, issuer.URL+"/mcp", oauth.Config{})
	site, err := a.Discover(t.Context(), oauth.Challenge{Bearer: true})
	if err != nil || site.Issuer != issuer.URL || site.Resource != issuer.URL+"/mcp" {
		t.Errorf("got %+v, %v; want the server itself as the issuer", site, err)
	}
	issuer.Set(func(f *authtest.Faults) { f.NoMetadata = true })
	site, err = a.Discover(t.Context(), oauth.Challenge{Bearer: true})
	if err != nil || site.Token != issuer.URL+"/token" || site.Authorize != issuer.URL+"/authorize" || site.Register != issuer.URL+"/register" {
		t.Errorf("got %+v, %v; want the default endpoints", site, err)
	}
	if _, err = a.Discover(t.Context(), oauth.Challenge{}); !errors.Is(err, oauth.ErrNoLogin) {
		t.Errorf("server without a bearer challenge: got %v, want ErrNoLogin", err)
	}
}

func TestDeviceLogin(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{Polls: 1})
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{})
	site, err := a.Discover(t.Context(), oauth.ParseChallenge(server.Challenge()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := a.Register(t.Context(), site, "")
	if err != nil {
		t.Fatal(err)
	}
	login, device, err := a.AuthorizeDevice(t.Context(), site, client, nil)
	if err != nil || device.UserCode != "ABCD-EFGH" || device.Interval != time.Second {
		t.Fatalf("got %+v, %v; want the code ABCD-EFGH and an interval of 1s", device, err)
	}
	if _, err := a.Poll(t.Context(), login); !errors.Is(err, oauth.ErrPending) {
		t.Errorf("Poll before the login: got %v, want ErrPending", err)
	}
	token, err := a.Poll(t.Context(), login)
	if _, _, ok := issuer.Valid(token.Access); err != nil || !ok {
		t.Errorf("Poll after the login: got no valid token; error %v", err)
	}
}

func TestClientCredentials(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{NoPKCE: true, Methods: []string{"client_secret_post"}})
	issuer.Client("robot", "s3cret & more")
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{ClientID: "robot", Secret: "s3cret & more"})
	site, err := a.Discover(t.Context(), oauth.ParseChallenge(server.Challenge()))
	if err != nil {
		t.Fatal(err)
	}
	for _, methods := range [][]string{{"client_secret_post"}, {"client_secret_basic"}, nil} {
		site.Methods = methods
		token, err := a.ClientCredentials(t.Context(), site, []string{"x"})
		if _, _, ok := issuer.Valid(token.Access); err != nil || !ok || token.Refresh != "" {
			t.Errorf("%v: got no valid token, or one with a refresh token; error %v", methods, err)
		}
		if err := a.Revoke(t.Context(), site, oauth.Client{}, token); err != nil {
			t.Errorf("%v: revoke: %v", methods, err)
		}
		if _, _, ok := issuer.Valid(token.Access); ok {
			t.Errorf("%v: the token is still valid after Revoke", methods)
		}
	}
	site.Issuer = "https://other.example"
	if _, err := agentOf(t, server.URL, oauth.Config{}).ClientCredentials(t.Context(), site, nil); !errors.Is(err, oauth.ErrNoClient) || oauth.Hint(err) == "" {
		t.Errorf("without a client id: got %v, want ErrNoClient", err)
	}
}

// HTTP 500 and 429 are temporary, and only invalid_grant ends a login.
func TestFaultsOfTheTokenEndpoint(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{})
	server := issuer.Protect(t, nil)
	a := agentOf(t, server.URL, oauth.Config{})
	login, token := logIn(t, a, issuer, server.Challenge())
	for name, c := range map[string]struct {
		set                func(*authtest.Faults)
		temporary, endedIt bool
	}{
		"500":            {set: func(f *authtest.Faults) { f.TokenStatus = 500 }, temporary: true},
		"429":            {set: func(f *authtest.Faults) { f.TokenStatus = 429 }, temporary: true},
		"401":            {set: func(f *authtest.Faults) { f.TokenStatus = 401 }},
		"invalid_client": {set: func(f *authtest.Faults) { f.TokenError = "invalid_client" }},
		"invalid_grant":  {set: func(f *authtest.Faults) { f.TokenError = "invalid_grant" }, endedIt: true},
		"dpop":           {set: func(f *authtest.Faults) { f.TokenType = "DPoP"; f.KeepRefresh = true }},
	} {
		issuer.Set(func(f *authtest.Faults) { *f = authtest.Faults{}; c.set(f) })
		_, err := a.Refresh(t.Context(), login.Site, login.Client, token)
		if err == nil || oauth.Temporary(err) != c.temporary || oauth.GrantEnded(err) != c.endedIt {
			t.Errorf("%s: got %v, temporary %t, ended %t; want %t, %t", name, err, oauth.Temporary(err), oauth.GrantEnded(err), c.temporary, c.endedIt)
		}
	}
}

func TestRequestedScopes(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{Offline: true})
	server := issuer.Protect(t, nil)
	server.Set(func(p *authtest.Protection) { p.Supported = []string{"a", "b"} })
	a := agentOf(t, server.URL, oauth.Config{})
	login, err := begin(t, a, server.Challenge())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(login.URL)
	if got := u.Query().Get("scope"); got != "a b offline_access" || u.Query().Get("prompt") != "consent" {
		t.Errorf("requested the scopes %q, want a b offline_access with prompt=consent", got)
	}
}

// Register prefers the configured client, then the metadata document, then a known or new registration.
func TestRegister(t *testing.T) {
	issuer := authtest.New(t, authtest.Faults{Documents: true, Methods: []string{"client_secret_basic"}})
	server := issuer.Protect(t, nil)
	ctx := context.Background()
	site, err := agentOf(t, server.URL, oauth.Config{}).Discover(ctx, oauth.ParseChallenge(server.Challenge()))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config oauth.Config
		id     string
		method string
	}{
		"configured":  {oauth.Config{ClientID: "us", MetadataURL: "https://us.example/client.json"}, "us", "none"},
		"with secret": {oauth.Config{ClientID: "us", Secret: "x"}, "us", "client_secret_basic"},
		"document":    {oauth.Config{MetadataURL: "https://us.example/client.json"}, "https://us.example/client.json", "none"},
	} {
		got, err := agentOf(t, server.URL, c.config).Register(ctx, site, redirectURI)
		if err != nil || got.ID != c.id || got.Method != c.method {
			t.Errorf("%s: got %+v, %v; want the client %s with method %s", name, got, err, c.id, c.method)
		}
	}
	a := agentOf(t, server.URL, oauth.Config{})
	first, err := a.Register(ctx, site, redirectURI)
	if err != nil || first.Secret == "" || first.Method != "client_secret_basic" {
		t.Fatalf("got %v with method %s, %v; want a client with a secret and method client_secret_basic", first, first.Method, err)
	}
	if again, err := a.Register(ctx, site, redirectURI, first); err != nil || again != first {
		t.Errorf("second Register: got %v, %v; want the same client", again, err)
	}
	elsewhere := first
	elsewhere.Issuer = "https://other.example"
	if again, err := a.Register(ctx, site, redirectURI, elsewhere); err != nil || again.ID == first.ID {
		t.Errorf("Register at another issuer reused a client: %v, %v", again, err)
	}
	site.Register = ""
	if _, err := a.Register(ctx, site, redirectURI); !errors.Is(err, oauth.ErrNoClient) || oauth.Hint(err) == "" {
		t.Errorf("without registration: got %v, want ErrNoClient", err)
	}
}
