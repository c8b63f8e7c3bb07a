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
	prefix    = "/login/"
	callback  = "callback"
	cookie    = "goblin-login"
	maxFlows  = 256 // logins under way in browsers; of more the oldest ends
	maxAnswer = 4 << 10
	waitAtAll = 30 * time.Second // for the authorization server
)

// Pages are the pages. Safe from any goroutine.
type Pages struct {
	base   func() string
	now    func() time.Time
	sealer *sealer

	mu      sync.Mutex
	gateway Gateway
	flows   map[string]flow // by state
}

// flow is a login under way in a browser.
type flow struct {
	login   Key
	browser string // its cookie
	until   time.Time
}

// New returns pages that stand under base, such as http://127.0.0.1:8730; "" = there are none now, and no URL is given.
func New(base func() string) *Pages {
	return &Pages{gateway: notYet{}, base: base, now: time.Now, sealer: newSealer(), flows: map[string]flow{}}
}

// Serve has the gateway log in. Pages are made before it, as it is told their addresses.
func (p *Pages) Serve(g Gateway) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gateway = g
}

func (p *Pages) to() Gateway {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gateway
}

// URL is where the person logs in whose login it is; "" = nowhere.
func (p *Pages) URL(key Key) string {
	base := p.base()
	if base == "" {
		return ""
	}
	return base + prefix + p.sealer.seal(key, p.now())
}

// Handler returns what serves a path; nil = nothing here does.
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

// Beside returns what serves the pages, and else what other does. nil pages are none.
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

// page shows the button of a ticket, and begins the login when it is pressed.
func (p *Pages) page(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimPrefix(r.URL.Path, prefix)
	key, err := p.sealer.open(text, p.now())
	switch {
	case err != nil:
		show(w, http.StatusNotFound, "This link is no longer good", "Links to log in are good for ten minutes. Call the tool again for a new one.")
	case !key.May(identity.From(r.Context())):
		show(w, http.StatusForbidden, "This is not your login", "A login is begun by whoever it is for. Run: goblin-actor login "+key.Entry)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		showForm(w, key, p.sealer.formToken(text))
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		show(w, http.StatusMethodNotAllowed, "Not that way", "Open the link in a browser.")
	case !p.pressed(r, text):
		show(w, http.StatusForbidden, "That did not come from this page", "Open the link again and press the button.")
	default:
		p.begin(w, r, key)
	}
}

// pressed reports whether a request comes from the button of the page.
func (p *Pages) pressed(r *http.Request, ticket string) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxAnswer)
	return hmac.Equal([]byte(r.PostFormValue("token")), []byte(p.sealer.formToken(ticket)))
}

// begin sends the browser to the authorization server.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, key Key) {
	ctx, cancel := context.WithTimeout(r.Context(), waitAtAll)
	defer cancel()
	who := identity.From(r.Context())
	begun, err := p.to().BeginLogin(ctx, Wish{Server: key.Entry, Catalog: key.Lane == "", Redirect: p.base() + prefix + callback, Who: who})
	if err != nil {
		showError(w, http.StatusBadGateway, "The login cannot begin", err)
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

// callback takes what the authorization server has sent the browser back with.
func (p *Pages) callback(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, known := p.take(q.Get("state"))
	seen, _ := r.Cookie(cookie)
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", "GET")
		show(w, http.StatusMethodNotAllowed, "Not that way", "Open the link in a browser.")
		return
	case !known:
		show(w, http.StatusBadRequest, "This login is over", "It has ended, or took too long. Begin it again.")
		return
	case seen == nil || !hmac.Equal([]byte(seen.Value), []byte(f.browser)):
		show(w, http.StatusForbidden, "This login began in another browser", "It was not you who began it, or not here. Nothing was done.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitAtAll)
	defer cancel()
	err := p.to().FinishLogin(ctx, Answer{
		Login: f.login, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error"), Detail: q.Get("error_description"),
		Who: identity.From(r.Context()),
	})
	if err != nil {
		showError(w, http.StatusBadGateway, "The login has failed", err)
		return
	}
	show(w, http.StatusOK, "You are logged in at "+f.login.Entry, "Close this page; what waited for the login goes on.")
}

// keep remembers a flow. When there are too many, the oldest is over.
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

// take returns a flow once.
func (p *Pages) take(state string) (flow, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.flows[state]
	delete(p.flows, state)
	return f, known && p.now().Before(f.until)
}

// hinted is an error that knows what a person can do.
type hinted interface{ Hint() string }

// hintOf is what a person can do about err; "" = nothing is known.
func hintOf(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
