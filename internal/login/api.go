package login

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/identity"
)

const (
	maxBody    = 16 << 10         // bytes of a request or response
	deviceWait = 25 * time.Second // time limit of a request to begin or finish a login; the client repeats a pending finish
	logoutWait = 5 * time.Second  // time limit of a request to log out, even if the authorization server does not answer
)

// Refused is an error response of the API.
type Refused struct {
	Message string `json:"error"`
	Hint    string `json:"hint,omitempty"`
	Pending bool   `json:"pending,omitempty"` // the login is still in progress: repeat the request
}

// Error returns the message.
func (r *Refused) Error() string { return r.Message }

// api returns the handler for a verb of the API, which the commands of goblin-actor use, or nil for an unknown verb.
// The principal is taken from the request's context.
func (p *Pages) api(verb string) http.Handler {
	switch verb {
	case "begin", "finish", "logout":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := identity.From(r.Context())
			switch {
			case r.Method != http.MethodPost:
				w.Header().Set("Allow", "POST")
				answer(w, http.StatusMethodNotAllowed, &Refused{Message: "method not allowed; use POST"})
			case r.Header.Get("Content-Type") != "application/json": // another site's page cannot send this type without a CORS preflight
				answer(w, http.StatusUnsupportedMediaType, &Refused{Message: "expected Content-Type application/json"})
			case who == nil:
				answer(w, http.StatusUnauthorized, &Refused{Message: "authentication required", Hint: "pass an API key with --key-file or $GOBLIN_KEY"})
			default:
				p.act(w, r, verb, who)
			}
		})
	}
	return nil
}

// HandlerFor returns the handler for begin, finish or logout on behalf of who, for connections that are trusted, such
// as the admin socket.
func (p *Pages) HandlerFor(who *identity.Principal, verb string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.act(w, r, verb, who) })
}

// act performs begin, finish or logout for an authenticated principal.
func (p *Pages) act(w http.ResponseWriter, r *http.Request, verb string, who *identity.Principal) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	patience := deviceWait
	if verb == "logout" {
		patience = logoutWait
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	var v any
	var err error
	switch verb {
	case "begin":
		var request Request
		if err = decode.Reader(r.Body, "the body", &request); err == nil {
			err = request.validate()
		}
		if err == nil {
			request.Who = who
			v, err = p.currentGateway().BeginLogin(ctx, request)
		}
	case "finish":
		var result Answer
		if err = decode.Reader(r.Body, "the body", &result); err == nil {
			if result.Who = who; result.Login.MayBeUsedBy(who) {
				v, err = struct{}{}, p.currentGateway().FinishLogin(ctx, result)
			} else {
				err = ErrNotYours
			}
		}
	case "logout":
		var request Request
		if err = decode.Reader(r.Body, "the body", &request); err == nil {
			request.Who = who
			v, err = struct{}{}, p.currentGateway().Logout(ctx, request)
		}
	}
	if err == nil {
		answer(w, http.StatusOK, v)
		return
	}
	refused := &Refused{Message: err.Error(), Hint: hintOf(err), Pending: errors.Is(err, context.DeadlineExceeded)}
	status := http.StatusBadGateway
	switch {
	case errors.Is(err, ErrRedirect):
		status = http.StatusBadRequest
	case errors.Is(err, ErrNotYours):
		status = http.StatusForbidden
	case errors.Is(err, ErrRestarted):
		status = http.StatusConflict
	case errors.Is(err, ErrNoServer):
		status = http.StatusNotFound
	case refused.Pending, errors.Is(err, ErrRevocationPending):
		status = http.StatusAccepted
	}
	answer(w, status, refused)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
