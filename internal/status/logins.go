package status

import (
	"context"
	"time"
)

// Login is a login at a server. It contains no token.
type Login struct {
	Server  string    `json:"server"`           // entry of mcpServers
	Whose   string    `json:"whose,omitempty"`  // name of the principal; "key:local" for the key local; empty = all clients share the login
	State   string    `json:"state"`            // discovering, needs-login, fresh, refreshing, stale or stored
	Issuer  string    `json:"issuer,omitempty"` // URL of the authorization server; empty = unknown
	Reason  string    `json:"reason,omitempty"` // the last error, or why a login is needed
	Expires time.Time `json:"expires,omitzero"` // of the access token; zero = unknown
	Renewed time.Time `json:"renewed,omitzero"` // when the token was received; zero = unknown
}

// Logins returns the logins that servers need or have. Logins that a person has to renew come first.
func (l Local) Logins(ctx context.Context) ([]Login, error) {
	logins, err := l.Gateway.Logins(ctx)
	return without(logins, l.Known), err
}
