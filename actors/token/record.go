package token

import (
	"encoding/json"
	"slices"

	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

const maxClients = 4 // client registrations kept, of different authorization servers or redirect URIs

// record is a login as stored in the state file.
type record struct {
	Server  string            `json:"server"` // URL of the server that the login is for
	Site    *oauth.AuthServer `json:"site,omitempty"`
	Client  oauth.Client      `json:"client,omitzero"`
	Token   oauth.Token       `json:"token,omitzero"`    // Access is "" if there is no login
	Asked   []string          `json:"asked,omitempty"`   // requested scopes
	Clients []oauth.Client    `json:"clients,omitempty"` // client registrations, newest last
}

// encode encodes the record for the store. It returns nil if the record is too large.
func (r *record) encode() message.Token {
	raw, err := json.Marshal(r)
	if err != nil || len(raw) > message.MaxTokenBytes {
		return nil // cannot happen: the size of each part is limited
	}
	return raw
}

// decode decodes a record. It returns false if the record is invalid, or for another server or other settings, since a token
// must only be sent to the server that it was issued for.
func decode(raw message.Token, server string, c oauth.Config) (record, bool) {
	var r record
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil || r.Server != server {
		return record{}, false
	}
	if r.Token.Access != "" && (r.Site == nil || c.ClientID != "" && c.ClientID != r.Client.ID || c.Issuer != "" && !oauth.SameIssuer(c.Issuer, r.Site.Issuer)) {
		return record{}, false
	}
	if c.Secret != "" && r.Client.Secret != "" && r.Client.ID == c.ClientID { // the configured secret may be newer
		r.Client.Secret = c.Secret
	}
	return r, true
}

// secrets returns the values that must be redacted.
func (r *record) secrets() (values []string) {
	add := func(value string) {
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	add(r.Token.Access)
	add(r.Token.Refresh)
	add(r.Client.Secret)
	for i := range r.Clients {
		add(r.Clients[i].Secret)
	}
	return values
}

// register adds a client registration, unless it is known already or is a configured client without a secret. It
// removes the oldest beyond maxClients.
func (r *record) register(c oauth.Client) {
	if c.Redirect == "" && c.Secret == "" || slices.Contains(r.Clients, c) {
		return
	}
	r.Clients = append(slices.Clone(r.Clients), c)
	if n := len(r.Clients); n > maxClients {
		r.Clients = r.Clients[n-maxClients:]
	}
}

// forget removes a registration that the authorization server seems to have forgotten. The next login registers again.
func (r *record) forget(c oauth.Client) {
	r.Clients = slices.DeleteFunc(slices.Clone(r.Clients), func(known oauth.Client) bool { return known == c })
}

// without returns the record without its login.
func (r record) without() record {
	r.Token, r.Asked = oauth.Token{}, nil
	return r
}
