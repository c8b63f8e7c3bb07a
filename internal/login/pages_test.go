package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/internal/identity"
)

// fakeGateway is a gateway that accepts every login, or returns the error fails if it is set.
type fakeGateway struct {
	mu       sync.Mutex
	begun    []Request
	finished []Answer
	fails    error
}

func (g *fakeGateway) BeginLogin(_ context.Context, w Request) (Started, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails != nil {
		return Started{}, g.fails
	}
	g.begun = append(g.begun, w)
	state := fmt.Sprint("state", len(g.begun))
	return Started{Login: Key{w.Server, ""}, URL: "https://issuer.test/authorize?state=" + state, State: state}, nil
}

func (g *fakeGateway) FinishLogin(_ context.Context, a Answer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finished = append(g.finished, a)
	return g.fails
}

// Logout blocks until ctx ends for the server hung, as if its authorization server did not answer.
func (*fakeGateway) Logout(ctx context.Context, w Request) error {
	if w.Server == "hung" {
		<-ctx.Done()
		return ErrRevocationPending
	}
	return nil
}

func (g *fakeGateway) counts() (begun, finished int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.begun), len(g.finished)
}

// servePages serves pages over HTTP. The principal of all requests is who.
func servePages(t *testing.T, g *fakeGateway, who *identity.Principal) (*Pages, string) {
	t.Helper()
	var p *Pages
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := p.Handler(r.URL.Path)
		if h == nil {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r.WithContext(identity.In(r.Context(), who)))
	}))
	t.Cleanup(s.Close)
	p = New(func() string { return s.URL })
	p.SetGateway(g)
	return p, s.URL
}

// browser returns a client that keeps cookies and does not follow redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

var tokenIn = regexp.MustCompile(`name=token value="([^"]+)"`)

// page gets a page and returns the response and the token of its form.
func page(t *testing.T, c *http.Client, address string) (*http.Response, string) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	if _, err := fmt.Fprint(&b, readAll(t, resp)); err != nil {
		t.Fatal(err)
	}
	if m := tokenIn.FindStringSubmatch(b.String()); m != nil {
		return resp, m[1]
	}
	return resp, ""
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

func press(t *testing.T, c *http.Client, address, token string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(url.Values{"token": {token}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

func TestLoginByPage(t *testing.T) {
	g := new(fakeGateway)
	p, base := servePages(t, g, identity.Local)
	c := browser(t)
	address := p.URL(Key{"github", ""})
	shown, token := page(t, c, address)
	if shown.StatusCode != 200 || token == "" {
		t.Fatalf("page: got status %d, want 200 with a form", shown.StatusCode)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"} {
		if got := shown.Header.Get(name); got != want {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
	if policy := shown.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("Content-Security-Policy: %s; want it to forbid external content and frames", policy)
	}
	sent := press(t, c, address, token)
	if sent.StatusCode != http.StatusSeeOther || sent.Header.Get("Location") != "https://issuer.test/authorize?state=state1" {
		t.Fatalf("submitting the form: got %d %s, want a redirect to the issuer", sent.StatusCode, sent.Header.Get("Location"))
	}
	if got := g.begun[0]; got.Server != "github" || got.Redirect != base+"/login/callback" || got.Who != identity.Local {
		t.Errorf("BeginLogin got %+v, want server github, the callback of the pages and the local user", got)
	}
	back, _ := page(t, c, base+"/login/callback?state=state1&code=c&iss=https%3A%2F%2Fissuer.test")
	if back.StatusCode != 200 || len(g.finished) != 1 || g.finished[0].Code != "c" || g.finished[0].Issuer != "https://issuer.test" || g.finished[0].Login.Entry != "github" {
		t.Fatalf("callback: got status %d, FinishLogin got %+v; want 200 and one answer with code c", back.StatusCode, g.finished)
	}
	if again, _ := page(t, c, base+"/login/callback?state=state1&code=c"); again.StatusCode != 400 {
		t.Errorf("second callback: got status %d, want 400", again.StatusCode)
	}
}

// Attack 95: another site makes the browser submit the form.
func TestAttack95CSRFOnLogin(t *testing.T) {
	g := new(fakeGateway)
	p, base := servePages(t, g, identity.Local)
	c := browser(t)
	address := p.URL(Key{"github", ""})
	_, token := page(t, c, address)
	_, other := page(t, c, p.URL(Key{"gitlab", ""}))
	for name, sent := range map[string]*http.Response{
		"no token":          press(t, c, address, ""),
		"another's token":   press(t, c, address, other),
		"from another site": press(t, c, address, token, "Sec-Fetch-Site", "cross-site"),
		"no ticket":         press(t, c, base+"/login/x", token),
	} {
		if sent.StatusCode/100 != 4 || sent.Header.Get("Location") != "" {
			t.Errorf("%s: got %d %s, want 4xx and no redirect", name, sent.StatusCode, sent.Header.Get("Location"))
		}
	}
	if begun, _ := g.counts(); begun != 0 {
		t.Errorf("%d logins were started", begun)
	}
}

// Attack 64: a victim is made to open another user's loginUrl, or to complete a login that another user started.
func TestAttack64VictimOpensLoginURL(t *testing.T) {
	mallory := Key{"github", "key:mallory"}
	for name, victim := range map[string]*identity.Principal{
		"unknown": nil, "another": {ID: "key:alice"}, "on this machine": identity.Local,
	} {
		g := new(fakeGateway)
		p, _ := servePages(t, g, victim)
		c := browser(t)
		shown, token := page(t, c, p.URL(mallory))
		if shown.StatusCode != 403 || token != "" {
			t.Errorf("%s: got status %d, want 403 and no form", name, shown.StatusCode)
		}
		press(t, c, p.URL(mallory), p.sealer.formToken(strings.TrimPrefix(p.URL(mallory), p.base()+prefix)))
		if begun, _ := g.counts(); begun != 0 {
			t.Errorf("%s: a login was started", name)
		}
	}
	if shared := (Key{"github", ""}); shared.MayBeUsedBy(&identity.Principal{ID: "key:bob"}) || shared.MayBeUsedBy(nil) {
		t.Error("a shared login must not be usable by ordinary principals")
	}

	g := new(fakeGateway)
	p, base := servePages(t, g, identity.Local)
	attacker, victim := browser(t), browser(t)
	address := p.URL(Key{"github", ""})
	_, token := page(t, attacker, address)
	press(t, attacker, address, token)
	back, _ := page(t, victim, base+"/login/callback?state=state1&code=of-the-victim")
	if _, finished := g.counts(); back.StatusCode != 403 || finished != 0 {
		t.Errorf("callback in another browser: got status %d, want 403; %d logins finished", back.StatusCode, finished)
	}
}

func TestTicketsExpire(t *testing.T) {
	s, now := newSealer(), time.Unix(1000, 0)
	text := s.seal(Key{"a", "b"}, now)
	if key, err := s.open(text, now.Add(ticketLife-time.Second)); err != nil || key != (Key{"a", "b"}) {
		t.Errorf("just before expiry: got %v, %v; want the key", key, err)
	}
	for name, bad := range map[string]string{"expired": text, "changed": text[:len(text)-2] + "AA", "empty": "", "too long": strings.Repeat("A", maxTicket+1), "not base64": "%%", "another process's": newSealer().seal(Key{"a", "b"}, now)} {
		at := now
		if name == "expired" {
			at = now.Add(ticketLife)
		}
		if _, err := s.open(bad, at); !errors.Is(err, errTicket) {
			t.Errorf("%s: got %v, want errTicket", name, err)
		}
	}
}

func TestFlowsAreLimited(t *testing.T) {
	p := New(func() string { return "" })
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	for i := range maxFlows + 10 {
		now = now.Add(time.Millisecond)
		p.keep(fmt.Sprint(i), flow{until: now.Add(ticketLife)})
	}
	if len(p.flows) != maxFlows {
		t.Errorf("%d flows, want %d", len(p.flows), maxFlows)
	}
	if _, known := p.take("0"); known {
		t.Error("the oldest flow was not dropped")
	}
	now = now.Add(ticketLife)
	if _, known := p.take(fmt.Sprint(maxFlows + 9)); known {
		t.Error("an expired flow is still accepted")
	}
}

func TestErrorsAreEscaped(t *testing.T) {
	g := &fakeGateway{fails: errors.New(`<script>alert(1)</script>`)}
	p, _ := servePages(t, g, identity.Local)
	c := browser(t)
	address := p.URL(Key{"<b>", ""})
	_, token := page(t, c, address)
	r, err := c.PostForm(address, url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text := readAll(t, r); r.StatusCode != http.StatusBadGateway || strings.Contains(text, "<script>") || strings.Contains(text, "<b>") {
		t.Errorf("got %d %s, want 502 with escaped text", r.StatusCode, text)
	}
}

func TestStyleHash(t *testing.T) {
	sum := sha256.Sum256([]byte(style))
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != styleHash {
		t.Errorf("styleHash is %s, want %s", styleHash, got)
	}
}

// Attack 64: an attacker starts a login of their own with a redirect URI elsewhere, and makes a victim complete it.
func TestAttack64AnswerBroughtElsewhere(t *testing.T) {
	g := new(fakeGateway)
	_, base := servePages(t, g, &identity.Principal{ID: "key:mallory"})
	c := &Client{HTTP: http.DefaultClient, URL: func(verb string) string { return base + "/login/api/" + verb }}
	for _, redirect := range []string{
		"", "https://mallory.test/callback", "http://mallory.test/", "http://127.0.0.1.mallory.test/", "http://127.0.0.1@mallory.test/", "http://localhost.mallory.test/",
		"//mallory.test", "javascript:alert(1)", "http://0.0.0.0/", "http://[::]/", "http://10.0.0.1/", "http://2130706433/", "http://127.0.0.1/#x", "goblin:callback", "http:127.0.0.1", "https://127.0.0.1/",
	} {
		if _, err := c.Begin(t.Context(), Request{Server: "github", Redirect: redirect}); err == nil || !strings.Contains(err.Error(), ErrRedirect.Error()) {
			t.Errorf("redirect %q: got %v, want ErrRedirect", redirect, err)
		}
	}
	if begun, _ := g.counts(); begun != 0 {
		t.Errorf("%d logins were started", begun)
	}
	for _, request := range []Request{{Redirect: "http://127.0.0.1:1/callback"}, {Redirect: "http://[::1]:1/callback"}, {Redirect: "http://localhost:1/"}, {Device: true}} {
		if _, err := c.Begin(t.Context(), request); err != nil {
			t.Errorf("Begin(%+v): %v", request, err)
		}
	}
}

func TestAPI(t *testing.T) {
	g := new(fakeGateway)
	_, base := servePages(t, g, &identity.Principal{ID: "key:alice"})
	c := &Client{HTTP: http.DefaultClient, URL: func(verb string) string { return base + "/login/api/" + verb }}
	begun, err := c.Begin(t.Context(), Request{Server: "github", Redirect: "http://127.0.0.1:1/callback"})
	if err != nil || begun.State != "state1" || g.begun[0].Who.ID != "key:alice" {
		t.Fatalf("Begin: got %+v, %v; want state1, begun by key:alice", begun, err)
	}
	var refused *Refused
	if err := c.Finish(t.Context(), Answer{Login: Key{"github", "key:bob"}, State: "s", Code: "c"}); !errors.As(err, &refused) || len(g.finished) != 0 {
		t.Errorf("Finish of another principal's login: got %v, want Refused", err)
	}
	if err := c.Finish(t.Context(), Answer{Login: Key{"github", "key:alice"}, State: "s", Code: "c"}); err != nil || len(g.finished) != 1 {
		t.Errorf("Finish of its own login: %v; FinishLogin must be called once", err)
	}
	_, stranger := servePages(t, g, nil)
	c.URL = func(verb string) string { return stranger + "/login/api/" + verb }
	if _, err := c.Begin(t.Context(), Request{Server: "github"}); !errors.As(err, &refused) || !strings.Contains(refused.Hint, "GOBLIN_KEY") {
		t.Errorf("unauthenticated Begin: got %v, want a hint about GOBLIN_KEY", err)
	}
	form, err := http.Post(base+"/login/api/begin", "text/plain", strings.NewReader(`{"server":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer form.Body.Close()
	if form.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain request: got status %d, want 415", form.StatusCode)
	}
}

func FuzzTicket(f *testing.F) {
	s := newSealer()
	f.Add(s.seal(Key{"a", ""}, time.Now()))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := s.open(text, time.Now()); err == nil && key == (Key{}) {
			t.Error("open accepted a ticket without a key")
		}
	})
}

func TestStandalone(t *testing.T) {
	p, stop := Standalone()
	defer stop()
	g := new(fakeGateway)
	p.SetGateway(g)
	c := browser(t)
	address := p.URL(Key{"github", ""})
	shown, token := page(t, c, address)
	if shown.StatusCode != 200 || token == "" {
		t.Fatalf("page: got status %d, want 200 with a form", shown.StatusCode)
	}
	if sent := press(t, c, address, token); sent.StatusCode != http.StatusSeeOther {
		t.Errorf("submitting the form: got status %d, want 303", sent.StatusCode)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.test"
	other, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if other.Body.Close(); other.StatusCode != http.StatusForbidden {
		t.Errorf("request for another host: got status %d, want 403", other.StatusCode)
	}
	stop()
	if got := p.URL(Key{"github", ""}); got != "" {
		t.Errorf("URL after stop: got %s, want none", got)
	}
}
