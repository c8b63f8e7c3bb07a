package interop

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/oauth"
	"goblin-actor/internal/ssrf"
)

const loginRedirect = "http://127.0.0.1:4711/callback"

// startProvider runs oidc-provider until the end of the test and returns its issuer.
func startProvider(t *testing.T, tokens string) string {
	t.Helper()
	needNode(t)
	said := &output{}
	cmd := exec.Command("node", "servers/oidc-provider.mjs", tokens)
	cmd.Env, cmd.Stderr = environment(t.TempDir()), said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://127.0.0.1:") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return lines.Text()
		}
	}
	t.Fatalf("oidc-provider did not print its URL: %s", said.String())
	return ""
}

// protected starts a server whose metadata names an issuer.
func protected(t *testing.T, issuer string) (serverURL string) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{issuer}, "scopes_supported": []string{"read"}})
	})
	return server.URL + "/mcp"
}

// browser acts as a user who fills in all forms and approves everything.
type browser struct {
	t      *testing.T
	client *http.Client
	answer url.Values // parameters of the redirect URI; nil = not reached
}

func newBrowser(t *testing.T) *browser {
	jar, _ := cookiejar.New(nil)
	b := &browser{t: t}
	b.client = &http.Client{Jar: jar, Timeout: 10 * time.Second, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), loginRedirect) {
			b.answer = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b
}

var (
	formOf  = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	inputOf = regexp.MustCompile(`<input[^>]*>`)
	nameOf  = regexp.MustCompile(`\bname="([^"]*)"`)
	valueOf = regexp.MustCompile(`\bvalue="([^"]*)"`)
)

// visit opens a page and submits forms until a page has none or the redirect URI is reached. It returns the last page.
func (b *browser) visit(page string) string {
	b.t.Helper()
	answer, err := b.client.Get(page)
	for range 10 {
		if err != nil {
			b.t.Fatal(err)
		}
		raw, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		form := formOf.FindSubmatch(raw)
		if b.answer != nil || form == nil {
			return string(raw)
		}
		fields := url.Values{}
		for _, input := range inputOf.FindAll(form[2], -1) {
			if name := nameOf.FindSubmatch(input); name != nil {
				value := "ada"
				if v := valueOf.FindSubmatch(input); v != nil {
					value = html.UnescapeString(string(v[1]))
				}
				fields.Set(string(name[1]), value)
			}
		}
		if strings.Contains(string(raw), `value="yes"`) { // a confirmation button
			fields.Set("confirm", "yes")
		}
		to, _ := answer.Request.URL.Parse(html.UnescapeString(string(form[1])))
		answer, err = b.client.PostForm(to.String(), fields)
	}
	b.t.Fatal("too many pages")
	return ""
}

func agentFor(t *testing.T, serverURL string, c oauth.Config) *oauth.Agent {
	t.Helper()
	guard, err := ssrf.New(ssrf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &oauth.Agent{Server: serverURL, Client: guard.ClientFor(serverURL), Now: time.Now, Config: c}
}

// audience returns the resource of an access token: aud of a JWT, or the introspection result of an opaque token.
func audience(t *testing.T, issuer, token string) string {
	t.Helper()
	var raw []byte
	if parts := strings.Split(token, "."); len(parts) == 3 {
		raw, _ = base64.RawURLEncoding.DecodeString(parts[1])
	} else {
		r, _ := http.NewRequest(http.MethodPost, issuer+"/token/introspection", strings.NewReader(url.Values{"token": {token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("resource", "resource-secret")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
	}
	var m struct{ Aud string }
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("the token or its introspection is not JSON: %s: %v", raw, err)
	}
	return m.Aud
}

// TestLoginAtOIDCProvider logs in to a third-party authorization server with a registered client or a metadata document, and with JWT or
// opaque tokens, and refreshes and revokes tokens. The server sends iss and registers public clients.
func TestLoginAtOIDCProvider(t *testing.T) {
	for name, c := range map[string]struct {
		tokens string
		config oauth.Config
	}{
		"JWT, registered":         {"jwt", oauth.Config{}},
		"opaque, with a document": {"opaque", oauth.Config{MetadataURL: "https://client.example/goblin.json"}},
		"opaque, registered":      {"opaque", oauth.Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := startProvider(t, c.tokens)
			server := protected(t, issuer)
			a, ctx := agentFor(t, server, c.config), t.Context()
			site, err := a.Discover(ctx, oauth.Challenge{})
			if err != nil {
				t.Fatal(err)
			}
			if !site.Iss || !site.S256 || !site.Documents || !site.Offline || site.Issuer != issuer {
				t.Errorf("discovered %+v, want iss, S256, metadata documents, offline_access and the issuer %s", site, issuer)
			}
			client, err := a.Register(ctx, site, loginRedirect)
			if err != nil {
				t.Fatal(err)
			}
			login, err := a.Authorize(site, client, site.Scopes, loginRedirect)
			if err != nil {
				t.Fatal(err)
			}
			b := newBrowser(t)
			if page := b.visit(login.URL); b.answer == nil {
				t.Fatalf("the browser ended at %s", page)
			}
			token, err := a.Redeem(ctx, login, oauth.AuthResponse{State: b.answer.Get("state"), Code: b.answer.Get("code"), Issuer: b.answer.Get("iss"), Error: b.answer.Get("error"), Description: b.answer.Get("error_description")})
			if err != nil {
				t.Fatal(err)
			}
			if aud := audience(t, issuer, token.Access); aud != server {
				t.Errorf("the token has the audience %q", aud)
			}
			next, err := a.Refresh(ctx, site, client, token)
			if err != nil {
				t.Fatal(err)
			}
			if aud := audience(t, issuer, next.Access); aud != server || next.Refresh == token.Refresh {
				t.Errorf("the refreshed token is for %q, rotated: %t", aud, next.Refresh != token.Refresh)
			}
			if _, err = a.Refresh(ctx, site, client, token); !oauth.GrantEnded(err) {
				t.Errorf("Refresh with a used refresh token: got %v", err)
			}
			if err = a.Revoke(ctx, site, client, next); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeviceLoginAtOIDCProvider logs in with a device code, and with client credentials.
func TestDeviceLoginAtOIDCProvider(t *testing.T) {
	issuer := startProvider(t, "jwt")
	server := protected(t, issuer)
	a, ctx := agentFor(t, server, oauth.Config{}), t.Context()
	site, err := a.Discover(ctx, oauth.Challenge{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := a.Register(ctx, site, "")
	if err != nil {
		t.Fatal(err)
	}
	login, device, err := a.AuthorizeDevice(ctx, site, client, site.Scopes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Poll(ctx, login); err != oauth.ErrPending && err != oauth.ErrSlowDown {
		t.Fatalf("Poll before the login: got %v", err)
	}
	page := newBrowser(t).visit(device.Complete)
	token, err := a.Poll(ctx, login)
	if err != nil {
		t.Fatalf("%v; the browser ends at %s", err, page)
	}
	if aud := audience(t, issuer, token.Access); aud != server {
		t.Errorf("the token has the audience %q", aud)
	}
	robot := agentFor(t, server, oauth.Config{ClientID: "robot", Secret: "robot-secret"})
	token, err = robot.ClientCredentials(ctx, site, []string{"read"})
	if err != nil {
		t.Fatal(err)
	}
	if aud := audience(t, issuer, token.Access); aud != server {
		t.Errorf("the token of client credentials has the audience %q", aud)
	}
}
