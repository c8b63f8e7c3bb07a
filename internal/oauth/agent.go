package oauth

import (
	"time"

	"goblin-actor/internal/ssrf"
)

// Agent is the OAuth client of one MCP server. It is immutable once in use.
type Agent struct {
	Server string           // URL of the MCP server, as configured
	Client *ssrf.Client     // HTTP client for URLs that the server names
	Now    func() time.Time // clock
	Config Config
}

// Config is the configuration of a server's login.
type Config struct {
	ClientID    string   // client id at the authorization server; "" = use MetadataURL or register
	Secret      string   // secret of ClientID; "" = public client
	MetadataURL string   // URL of a client id metadata document; "" = none
	Scopes      []string // scopes to request instead of those that the server names
	Issuer      string   // the only acceptable issuer; "" = the one that the server names
}

// AuthServer is an authorization server, with the parameters for one MCP server. It is stored with a login, hence the JSON.
type AuthServer struct {
	Resource  string   `json:"resource"` // the resource that tokens are for
	Issuer    string   `json:"issuer"`
	Authorize string   `json:"authorize,omitempty"`
	Token     string   `json:"token"`
	Device    string   `json:"device,omitempty"`
	Register  string   `json:"register,omitempty"`
	Revoke    string   `json:"revoke,omitempty"`
	Scopes    []string `json:"scopes,omitempty"`    // scopes of the first request
	Methods   []string `json:"methods,omitempty"`   // the client authentication methods that it supports and the gateway knows, basic first
	S256      bool     `json:"s256,omitempty"`      // supports PKCE with S256
	Iss       bool     `json:"iss,omitempty"`       // its authorization responses contain iss
	Documents bool     `json:"documents,omitempty"` // supports client id metadata documents
	Offline   bool     `json:"offline,omitempty"`   // supports the scope offline_access
	Guessed   bool     `json:"guessed,omitempty"`   // has no metadata: the endpoints are the defaults of MCP 2025-03-26
}

// Client is the gateway's registration at an authorization server. It is stored with a login.
type Client struct {
	Issuer   string    `json:"issuer"`
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Method   string    `json:"method"`             // client_secret_basic, client_secret_post or none
	Redirect string    `json:"redirect,omitempty"` // registered redirect URI; "" = configured client, or registered for logins by device
	Expires  time.Time `json:"expires,omitzero"`   // expiry of the secret; zero = never
}

// Token is a granted token. It is stored with a login.
type Token struct {
	Access   string    `json:"access"`
	Refresh  string    `json:"refresh,omitempty"` // "" = none
	Scopes   []string  `json:"scopes,omitempty"`  // granted scopes, as far as known
	Received time.Time `json:"got"`
	Expires  time.Time `json:"expires,omitzero"` // zero = unknown
}

// String keeps tokens out of logs.
func (Token) String() string { return "[redacted]" }

// GoString also keeps tokens out of logs.
func (Token) GoString() string { return "[redacted]" }

// String returns the client id and keeps the secret out of logs.
func (c Client) String() string { return c.ID }

// GoString also keeps the secret out of logs.
func (c Client) GoString() string { return c.ID }
