package login

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"goblin-actor/internal/identity"
)

const (
	prefix         = "/login/"
	callback       = "callback"
	cookie         = "goblin-login"
	maxFlows       = 256              // maximum number of logins in progress in browsers; beyond it, the oldest is dropped
	maxAnswer      = 4 << 10          // bytes of a submitted form
	gatewayTimeout = 30 * time.Second // limit for the gateway to begin or finish a login
)

// Pages serves the login pages. It is safe for concurrent use.
type Pages struct {
	base   func() string
	now    func() time.Time
	sealer *sealer

	mu      sync.Mutex
	gateway Gateway
	flows   map[string]flow // logins in progress by state
}

// flow is a login in progress in a browser.
type flow struct {
	login   Key
	browser string // value of the browser's cookie
	until   time.Time
}

// New returns login pages. base returns the URL of the listener, such as http://127.0.0.1:8730, or "" if there is none
// at the moment.
func New(base func() string) *Pages {
	return &Pages{gateway: startingGateway{}, base: base, now: time.Now, sealer: newSealer(), flows: map[string]flow{}}
}

// SetGateway sets the gateway that performs the logins. Pages exist before the gateway, which needs their URLs.
func (p *Pages) SetGateway(g Gateway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gateway = g
}

func (p *Pages) currentGateway() Gateway {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gateway
}

// URL returns the address of the page on which a user begins a login, or "" if the gateway has no listener. It is valid for ticketLife.
func (p *Pages) URL(key Key) string {
	base := p.base()
	if base == "" {
		return ""
	}
	return base + prefix + p.sealer.seal(key, p.now())
}

// Handler returns the handler for a path, or nil if it is not one of the login pages.
func (p *Pages) Handler(path string) http.Handler {
	rest, ours := strings.CutPrefix(path, prefix)
	switch {
	case !ours:
		return nil
	case rest == callback:
		return http.HandlerFunc(p.callback)
	case strings.HasPrefix(rest, "api/"):
		return p.api(strings.TrimPrefix(rest, "api/"))
	}
	return http.HandlerFunc(p.page)
}

// Beside returns a function that returns the handler of the login pages for their paths, and the result of other for
// all others. p may be nil.
func (p *Pages) Beside(other func(path string) http.Handler) func(path string) http.Handler {
	if p == nil {
		return other
	}
	return func(path string) http.Handler {
		if h := p.Handler(path); h != nil {
			return h
		}
		return other(path)
	}
}

// page shows the form for a ticket, and starts the login when it is submitted.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimPrefix(r.URL.Path, prefix)
	key, err := p.sealer.open(text, p.now())
	switch {
	case err != nil:
		show(w, http.StatusNotFound, "This link is invalid or has expired", "Login links are valid for ten minutes. Call the tool again to get a new link.")
	case !key.MayBeUsedBy(identity.From(r.Context())):
		show(w, http.StatusForbidden, "This is not your login", "Only the user to whom this login belongs can start it. To log in yourself, run: goblin-actor login "+key.Entry)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		showForm(w, key, p.sealer.formToken(text))
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		show(w, http.StatusMethodNotAllowed, "Method not allowed", "Open this link in a browser.")
	case !p.pressed(r, text):
		show(w, http.StatusForbidden, "This request did not come from the login page", "Open the link again and press the button.")
	default:
		p.begin(w, r, key)
	}
}

// pressed reports whether a request was sent by the page's form.
func (p *Pages) pressed(r *http.Request, ticket string) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxAnswer)
	return hmac.Equal([]byte(r.PostFormValue("token")), []byte(p.sealer.formToken(ticket)))
}

// begin starts a login and redirects the browser to the authorization server.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, key Key) {
	ctx, cancel := context.WithTimeout(r.Context(), gatewayTimeout)
	defer cancel()
	who := identity.From(r.Context())
	begun, err := p.currentGateway().BeginLogin(ctx, Request{Server: key.Entry, Catalog: key.Lane == "", Redirect: p.base() + prefix + callback, Who: who})
	if err != nil {
		showError(w, http.StatusBadGateway, "The login could not be started", err)
		return
	}
	browser := rand.Text()
	p.keep(begun.State, flow{begun.Login, browser, p.now().Add(ticketLife)})
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: browser, Path: prefix, MaxAge: int(ticketLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(p.base(), "https://"),
	})
	guard(w)
	http.Redirect(w, r, begun.URL, http.StatusSeeOther)
}

// callback handles the redirect from the authorization server.
func (p *Pages) callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, known := p.take(q.Get("state"))
	seen, _ := r.Cookie(cookie)
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", "GET")
		show(w, http.StatusMethodNotAllowed, "Method not allowed", "Open this link in a browser.")
		return
	case !known:
		show(w, http.StatusBadRequest, "This login is no longer active", "It has already ended or has expired. Start the login again.")
		return
	case seen == nil || !hmac.Equal([]byte(seen.Value), []byte(f.browser)):
		show(w, http.StatusForbidden, "This login was started in another browser", "Start the login in this browser. Nothing was changed.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), gatewayTimeout)
	defer cancel()
	err := p.currentGateway().FinishLogin(ctx, Answer{
		Login: f.login, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Detail: q.Get("error_description"),
		Who: identity.From(r.Context()),
	})
	if err != nil {
		showError(w, http.StatusBadGateway, "The login failed", err)
		return
	}
	show(w, http.StatusOK, "You are logged in to "+f.login.Entry, "You can close this page. Calls that were waiting for the login continue.")
}

// keep stores a flow. If there are too many, it drops the oldest.
func (p *Pages) keep(state string, f flow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := ""
	for s, other := range p.flows {
		if !p.now().Before(other.until) {
			delete(p.flows, s)
		} else if oldest == "" || other.until.Before(p.flows[oldest].until) {
			oldest = s
		}
	}
	if len(p.flows) >= maxFlows {
		delete(p.flows, oldest)
	}
	p.flows[state] = f
}

// take removes and returns a flow. It reports whether the flow existed and had not expired.
func (p *Pages) take(state string) (flow, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.flows[state]
	delete(p.flows, state)
	return f, known && p.now().Before(f.until)
}

// hinted is an error with a hint for the user.
type hinted interface{ Hint() string }

// hintOf returns what the user can do about err, or "".
func hintOf(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
