package login

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"time"

	"goblin-actor/internal/identity"
)

var (
	// ErrNotYours is returned when the login is another principal's, or everybody's and the principal is no admin.
	ErrNotYours error = &hintedError{"that login is not yours", "everybody's is for whoever may use the admin socket, or has a role that says admin: act"}
	// ErrNoServer is returned when there is no server of the name, or it has no login of ours.
	ErrNoServer error = &hintedError{"no such server to log in at", "that is one with a url under mcpServers, for which no header Authorization is configured and auth.type is not none"}
)

// ErrRedirect is returned for a login whose answer would go elsewhere than to the machine of whoever begins it.
var ErrRedirect error = &hintedError{"the browser has to come back to the machine where the login is begun", "redirect is like http://127.0.0.1:12345/callback"}

// ErrUnheard is returned by Logout when ctx ends before the authorization server has answered. It goes on being asked.
var ErrUnheard error = &hintedError{"the login is forgotten here; its authorization server has not answered yet whether it is there", "it is asked for some seconds more; if it does not hear of it, the gateway's log says so"}

// hintedError is an error with what a person can do.
type hintedError struct{ text, hint string }

func (e *hintedError) Error() string { return e.text }
func (e *hintedError) Hint() string  { return e.hint }

// Key names a login: an entry of mcpServers, and whose it is ("" = everybody's, else a principal's holder).
type Key struct{ Entry, Lane string }

// Wish is a login that somebody wants.
type Wish struct {
	Server   string `json:"server"`             // the entry
	Catalog  bool   `json:"catalog,omitempty"`  // under as: principal: the login that lists what there is, not one's own
	Redirect string `json:"redirect,omitempty"` // where the browser comes back to; unused with device
	Device   bool   `json:"device,omitempty"`   // the person has a browser elsewhere

	Who *identity.Principal `json:"-"`
}

// check says what is wrong with where the browser is to come back to. Whoever begins a login must not be brought the answer of somebody else, whom
// he has made log in by sending him the URL: the answer stays on the machine whose browser it is.
func (w *Wish) check() error {
	u, err := url.Parse(w.Redirect)
	switch {
	case w.Redirect == "" && w.Device:
		return nil
	case err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "":
		return ErrRedirect
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return ErrRedirect
	}
	return nil
}

// Begun is a login under way.
type Begun struct {
	Login    Key       `json:"login"`
	URL      string    `json:"url"`                // for a browser
	Complete string    `json:"complete,omitempty"` // of a device: URL with the code in it
	State    string    `json:"state"`
	UserCode string    `json:"userCode,omitempty"` // to be entered there
	Expires  time.Time `json:"expires,omitzero"`
}

// Answer is what the browser brings back, or with an empty Code, of a login by device, the wait for its end.
type Answer struct {
	Login  Key    `json:"login"`
	State  string `json:"state"`
	Code   string `json:"code,omitempty"`
	Issuer string `json:"iss,omitempty"`
	Error  string `json:"error,omitempty"` // in place of Code
	Detail string `json:"detail,omitempty"`

	Who *identity.Principal `json:"-"`
}

// Gateway logs in. Its methods block until it has answered or ctx ends, and may be called from any goroutine.
type Gateway interface {
	BeginLogin(ctx context.Context, w Wish) (Begun, error)
	FinishLogin(ctx context.Context, a Answer) error
	Logout(ctx context.Context, w Wish) error
}

// May reports whether the principal may use the login: its own, and everybody's as an operator.
func (k Key) May(who *identity.Principal) bool {
	if who == nil {
		return false
	}
	if k.Lane == "" {
		return who.Operates()
	}
	return identity.HolderOf(who) == k.Lane
}

// notYet is a gateway that has not begun.
type notYet struct{}

var errNotYet = errors.New("the gateway is starting; try again")

func (notYet) BeginLogin(context.Context, Wish) (Begun, error) { return Begun{}, errNotYet }
func (notYet) FinishLogin(context.Context, Answer) error       { return errNotYet }
func (notYet) Logout(context.Context, Wish) error              { return errNotYet }
