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
	// ErrNotYours is returned if the login belongs to another principal, or is shared and the principal may not
	// administer it.
	ErrNotYours error = &hintedError{"this login is not yours: it is shared, or belongs to another user", "to manage a shared login, use the admin socket, or a key with a role that has admin: act"}
	// ErrNoServer is returned if there is no such server, or it has no login that the gateway manages.
	ErrNoServer error = &hintedError{"no server of this name supports logins", "name a server under mcpServers with a url, without a configured Authorization header, and without auth.type: none"}
)

// ErrRedirect is returned for a login whose redirect URI is not an http URI of localhost or a loopback address.
var ErrRedirect error = &hintedError{"the redirect URI must be an http:// URI of localhost or a loopback address", "set redirect to a URI like http://127.0.0.1:12345/callback"}

// ErrRevocationPending is returned by Logout if ctx ends before the authorization server has answered. The revocation
// continues in the background.
var ErrRevocationPending error = &hintedError{"the login was removed from the gateway, but the authorization server has not yet confirmed its revocation", "check the gateway's log: it waits a few more seconds for the answer, and logs a warning if the revocation fails"}

// ErrRestarted is returned if a request was aimed at another process than the one that answers it.
var ErrRestarted error = &hintedError{"the gateway has restarted since", "look at the login again before you repeat the action"}

// hintedError is an error with a hint for the user.
type hintedError struct{ text, hint string }

func (e *hintedError) Error() string { return e.text }
func (e *hintedError) Hint() string  { return e.hint }

// Key identifies a login: a server in mcpServers, and the holder that owns the login ("" = shared by all).
type Key struct{ Entry, Lane string }

// Request describes the login that a user requests.
type Request struct {
	Server   string `json:"server"`             // name of the server
	Catalog  bool   `json:"catalog,omitempty"`  // with as: principal: the login for listing the catalog, not the user's own
	Redirect string `json:"redirect,omitempty"` // redirect URI; unused with Device
	Device   bool   `json:"device,omitempty"`   // the user's browser is on another device
	Aim      string `json:"aim,omitempty"`      // status.Aim at the process that the user saw; "" = any

	Who *identity.Principal `json:"-"`
}

// validate returns ErrRedirect if the redirect URI is not an http URI on a loopback address or localhost. A device
// login needs no redirect URI. An attacker could start a login and send its URL to a victim; the response must
// therefore stay on the machine where the browser runs.
func (w *Request) validate() error {
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

// Started is a login in progress.
type Started struct {
	Login    Key       `json:"login"`
	URL      string    `json:"url"`                // page to open in a browser
	Complete string    `json:"complete,omitempty"` // for a device login: URL that includes the code
	State    string    `json:"state"`
	UserCode string    `json:"userCode,omitempty"` // code to enter on the page at URL
	Expires  time.Time `json:"expires,omitzero"`
}

// Answer is the result that the browser brings back. For a device login Code is empty, and the request waits until the
// login ends.
type Answer struct {
	Login  Key    `json:"login"`
	State  string `json:"state"`
	Code   string `json:"code,omitempty"`
	Issuer string `json:"iss,omitempty"`
	Error  string `json:"error,omitempty"` // instead of Code
	Detail string `json:"detail,omitempty"`

	Who *identity.Principal `json:"-"`
}

// Gateway performs logins. Its methods block until the gateway has answered or ctx ends. They are safe for concurrent use.
type Gateway interface {
	BeginLogin(ctx context.Context, w Request) (Started, error)
	FinishLogin(ctx context.Context, a Answer) error
	Logout(ctx context.Context, w Request) error
}

// MayBeUsedBy reports whether a principal may use the login: its own, or a shared one if it may operate the gateway.
func (k Key) MayBeUsedBy(who *identity.Principal) bool {
	if who == nil {
		return false
	}
	if k.Lane == "" {
		return who.Operates()
	}
	return identity.HolderOf(who) == k.Lane
}

// startingGateway is the gateway before it has started. Its methods fail with errStarting.
type startingGateway struct{}

var errStarting = errors.New("the gateway is starting; try again")

func (startingGateway) BeginLogin(context.Context, Request) (Started, error) {
	return Started{}, errStarting
}
func (startingGateway) FinishLogin(context.Context, Answer) error { return errStarting }
func (startingGateway) Logout(context.Context, Request) error     { return errStarting }
