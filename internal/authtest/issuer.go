package authtest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Faults describes how the authorization server deviates. The zero value is a correct server with PKCE, iss,
// registration, rotated refresh tokens, and access tokens for an hour.
type Faults struct {
	Path string // path of the issuer's URL, such as /tenant; fixed after New

	// Metadata.
	NoMetadata bool   // answer 404
	OpenID     bool   // only at the OpenID Connect location, after the path
	Issuer     string // issuer in the metadata instead of the URL
	NoPKCE     bool
	NoIss      bool     // neither announce nor send iss
	Documents  bool     // support client id metadata documents
	NoRegister bool     // no dynamic registration
	NoDevice   bool     // no device logins
	Offline    bool     // support the scope offline_access, which refresh tokens then require
	Methods    []string // token_endpoint_auth_methods_supported; nil = absent
	Endless    bool     // an infinite document
	Redirect   string   // redirect documents to this URL

	// Authorization responses.
	Iss   string // iss instead of the issuer
	Error string // error instead of a code

	// Token endpoint.
	TokenStatus   int           // status of all responses; 0 = normal
	TokenError    string        // OAuth error of all responses; "" = normal
	TokenRedirect string        // redirect all requests to this URL with 307
	TokenDelay    time.Duration // delay before processing
	Cut           bool          // grant the token, then cut the connection before the response
	Life          time.Duration // lifetime of access tokens; 0 = an hour
	NoExpiry      bool          // omit expires_in
	NoRefresh     bool          // no refresh tokens
	KeepRefresh   bool          // do not rotate refresh tokens
	TokenType     string        // token_type instead of Bearer
	Polls         int           // polls of a device login before the user has logged in

	RevokeWaits <-chan struct{} // revocations wait until it is closed or the client disconnects; nil = no wait
	RevokeError string          // OAuth error of revocations; "" = normal
}

// Issuer is a running authorization server.
type Issuer struct {
	URL string // issuer identifier

	origin string
	mu     sync.Mutex
	faults Faults
	extra  map[string]any // additional metadata
	codes  map[string]*code
	tokens map[string]*issued // grants by access token
	fresh  map[string]*issued // grants by refresh token, including used ones
	seen   []Request
	device map[string]*code  // device logins by device_code
	known  map[string]string // secrets by client id
}

// code is the grant of an authorization code or a device code.
type code struct {
	client, redirect, challenge, resource, scope string
	polls                                        int
}

// issued is the grant of an access or refresh token.
type issued struct {
	client, resource, scope string
	until                   time.Time
	family                  *family
	used                    bool
}

// family is a login with all its refreshed tokens.
type family struct{ revoked bool }

// Request is a recorded request.
type Request struct {
	Path          string
	Form          url.Values
	Authorization string
}

// New starts an authorization server and stops it when the test ends.
func New(t testing.TB, f Faults) *Issuer {
	i := &Issuer{faults: f, codes: map[string]*code{}, tokens: map[string]*issued{}, fresh: map[string]*issued{}, device: map[string]*code{}, known: map[string]string{}}
	server := httptest.NewServer(i.handler())
	t.Cleanup(server.Close)
	i.origin = server.URL
	i.URL = server.URL + f.Path
	return i
}

// Set changes the faults.
func (i *Issuer) Set(change func(*Faults)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.faults)
}

func (i *Issuer) now() Faults {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.faults
}

// Client registers a client as an operator would.
func (i *Issuer) Client(id, secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known[id] = secret
}

// Seen returns the requests to a path, such as /token.
func (i *Issuer) Seen(path string) []Request {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []Request
	for _, r := range i.seen {
		if r.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// Refreshes returns the number of requests with a refresh token.
func (i *Issuer) Refreshes() int {
	n := 0
	for _, r := range i.Seen("/token") {
		if r.Form.Get("grant_type") == "refresh_token" {
			n++
		}
	}
	return n
}

// Revoke revokes all access tokens and, if logins is true, all refresh tokens.
func (i *Issuer) Revoke(logins bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.tokens)
	if logins {
		for _, g := range i.fresh {
			g.family.revoked = true
		}
	}
}

// Valid reports whether an access token is valid, and returns what it grants.
func (i *Issuer) Valid(access string) (resource string, scopes []string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	g := i.tokens[access]
	if g == nil || g.family.revoked || !time.Now().Before(g.until) {
		return "", nil, false
	}
	return g.resource, strings.Fields(g.scope), true
}

// Approve opens a login's URL like a browser whose user approves it, and returns the parameters of the redirect.
func (*Issuer) Approve(t testing.TB, login string) url.Values {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(login)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	to, err := answer.Location()
	if err != nil {
		t.Fatalf("the login page answered %s without a redirect", answer.Status)
	}
	return to.Query()
}

func (i *Issuer) note(r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen = append(i.seen, Request{r.URL.Path, r.Form, r.Header.Get("Authorization")})
}

func random(kind string) string { return kind + "-" + rand.Text() }

// SetMetadata sets a field of the metadata.
func (i *Issuer) SetMetadata(key string, value any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.extra == nil {
		i.extra = map[string]any{}
	}
	i.extra[key] = value
}
