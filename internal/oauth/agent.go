package oauth

import (
	"time"

	"goblin-actor/internal/ssrf"
)

// Agent is one server as a client of OAuth. Immutable once it is in use.
type Agent struct {
	Server string           // the URL, as the operator wrote it
	Door   *ssrf.Door       // for all that the server names
	Now    func() time.Time // the clock
	Config Config
}

// Config is what the operator wrote about logging in at the server.
type Config struct {
	ClientID    string   // our id at the authorization server; "" = we register, or use MetadataURL
	Secret      string   // goes with ClientID; "" = a public client
	MetadataURL string   // describes us, where the authorization server reads such documents; "" = none
	Scopes      []string // asked for instead of what the server names
	Issuer      string   // the only authorization server that is believed; "" = the one that the server names
}

// Site is an authorization server, and what of it concerns one server. It is remembered with a login, hence the JSON.
type Site struct {
	Resource  string   `json:"resource"` // what tokens are asked for
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorize,omitempty"`
	Token     string   `json:"token"`
	Device    string   `json:"device,omitempty"`
	Register  string   `json:"register,omitempty"`
	Revoke    string   `json:"revoke,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`    // to be asked for at first
	Methods   []string `json:"methods,omitempty"`   // how a client may prove who it is
	S256      bool     `json:"s256,omitempty"`      // it does PKCE
	Iss       bool     `json:"iss,omitempty"`       // its answers name it
	Documents bool     `json:"documents,omitempty"` // it reads client id metadata documents
	Offline   bool     `json:"offline,omitempty"`   // it knows the scope offline_access
	Guessed   bool     `json:"guessed,omitempty"`   // it has no metadata: these are the default endpoints of MCP 2025-03-26
}

// Client is who we are at an authorization server. It is remembered with a login.
type Client struct {
	Issuer   string    `json:"issuer"`
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Method   string    `json:"method"`             // client_secret_basic, client_secret_post or none
	Redirect string    `json:"redirect,omitempty"` // what it was registered with; "" = any
	Expires  time.Time `json:"expires,omitzero"`   // of the secret; zero = never
}

// Token is what an authorization server grants. It is remembered with a login.
type Token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"` // "" = none
	Scopes  []string  `json:"scopes,omitempty"`  // granted, as far as it is known
	Got     time.Time `json:"got"`
	Expires time.Time `json:"expires,omitzero"` // zero = not said
}

// String keeps tokens out of logs.
func (Token) String() string { return "[redacted]" }

// GoString likewise.
func (Token) GoString() string { return "[redacted]" }

// String keeps secrets out of logs.
func (c Client) String() string { return c.ID }

// GoString likewise.
func (c Client) GoString() string { return c.ID }
