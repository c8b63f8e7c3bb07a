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

// Faults say what is wrong with the authorization server, or different. The zero value has nothing wrong: PKCE, iss, registration, rotated
// refresh tokens, tokens for an hour.
type Faults struct {
	Path string // of the issuer's URL, such as /tenant; fixed after New

	// Of metadata.
	NoMetadata bool   // 404
	OpenID     bool   // only where OpenID Connect has it, behind the path
	Issuer     string // what it says it is, in place of its URL
	NoPKCE     bool
	NoIss      bool     // neither promised nor sent
	Documents  bool     // client id metadata documents are read
	NoRegister bool     // nobody is registered
	NoDevice   bool     // no login by device
	Offline    bool     // scope offline_access is known, and a refresh token needs it
	Methods    []string // token_endpoint_auth_methods_supported; nil = none
	Endless    bool     // a document without end
	Redirect   string   // documents are elsewhere

	// Of answers to logins.
	Iss   string // what is sent as iss, in place of the issuer
	Error string // the answer of the browser, in place of a code

	// Of the token endpoint.
	TokenStatus   int           // what each request for a token is answered with, 0 = as it should be
	TokenError    string        // likewise, an error of OAuth
	TokenRedirect string        // requests for tokens are redirected there, by 307
	TokenDelay    time.Duration // before anything is done
	Cut           bool          // tokens are granted, and the connection cut before the answer
	Life          time.Duration // of access tokens; 0 = an hour
	NoExpiry      bool          // expires_in is not said
	NoRefresh     bool          // no refresh tokens
	KeepRefresh   bool          // refresh tokens are not rotated
	TokenType     string        // in place of Bearer
	Polls         int           // of a device before the person has logged in

	RevokeWaits <-chan struct{} // before anything is revoked, until it is closed or who asks has gone; nil = it does not
	RevokeError string          // what is answered in place of revoking
}

// Issuer is an authorization server.
type Issuer struct {
	URL string // its identifier

	origin string
	mu     sync.Mutex
	faults Faults
	extra  map[string]any // put into the metadata
	codes  map[string]*code
	tokens map[string]*issued // by access token
	fresh  map[string]*issued // by refresh token, those that are used up too
	seen   []Request
	device map[string]*code  // by device_code
	known  map[string]string // clients and their secrets
}

// code is what a code, or a device's code, is good for.
type code struct {
	client, redirect, challenge, resource, scope string
	polls                                        int
}

// issued is a grant with what came of it.
type issued struct {
	client, resource, scope string
	until                   time.Time
	family                  *family
	used                    bool
}

// family is one login with all that was refreshed since.
type family struct{ revoked bool }

// Request is one that came.
type Request struct {
	Path          string
	Form          url.Values
	Authorization string
}

// New starts an authorization server that lives as long as the test.
func New(t testing.TB, f Faults) *Issuer {
	i := &Issuer{faults: f, codes: map[string]*code{}, tokens: map[string]*issued{}, fresh: map[string]*issued{}, device: map[string]*code{}, known: map[string]string{}}
	server := httptest.NewServer(i.handler())
	t.Cleanup(server.Close)
	i.origin = server.URL
	i.URL = server.URL + f.Path
	return i
}

// Set changes what is wrong.
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

// Client makes a client known that the operator registered by hand.
func (i *Issuer) Client(id, secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known[id] = secret
}

// Seen returns the requests that came to a path, such as /token.
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

// Refreshes counts the requests that came with a refresh token.
func (i *Issuer) Refreshes() int {
	n := 0
	for _, r := range i.Seen("/token") {
		if r.Form.Get("grant_type") == "refresh_token" {
			n++
		}
	}
	return n
}

// Revoke ends all access tokens; with logins true, the refresh tokens too.
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

// Valid says whether an access token is good now, and what for.
func (i *Issuer) Valid(access string) (resource string, scopes []string, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	g := i.tokens[access]
	if g == nil || g.family.revoked || !time.Now().Before(g.until) {
		return "", nil, false
	}
	return g.resource, strings.Fields(g.scope), true
}

// Approve does what the browser of a willing person does with a login's URL, and returns what comes to the redirect URI.
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
		t.Fatalf("the page to log in at answers %s and leads nowhere", answer.Status)
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

// SetMetadata puts a value into the metadata, whatever was there.
func (i *Issuer) SetMetadata(key string, value any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.extra == nil {
		i.extra = map[string]any{}
	}
	i.extra[key] = value
}
