package token

import (
	"encoding/json"
	"slices"

	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

const maxClients = 4 // registrations that are remembered, of different authorization servers or redirect URIs

// record is what is known of a login, as the store keeps it.
type record struct {
	Server  string            `json:"server"` // the URL it was made for
	Site    *oauth.AuthServer `json:"site,omitempty"`
	Client  oauth.Client      `json:"client,omitzero"`
	Token   oauth.Token       `json:"token,omitzero"`    // Access "" = nobody is logged in
	Asked   []string          `json:"asked,omitempty"`   // scopes
	Clients []oauth.Client    `json:"clients,omitempty"` // who we are elsewhere; the newest last
}

// encode writes the record for the store.
func (r *record) encode() message.Token {
	raw, err := json.Marshal(r)
	if err != nil || len(raw) > message.MaxTokenBytes {
		return nil // it is of our own types, and each part has its bound
	}
	return raw
}

// decode reads a record, if it is one of that server with those settings: a token goes nowhere but where it was meant for.
func decode(raw message.Token, server string, c oauth.Config) (record, bool) {
	var r record
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil || r.Server != server {
		return record{}, false
	}
	if r.Token.Access != "" && (r.Site == nil || c.ClientID != "" && c.ClientID != r.Client.ID || c.Issuer != "" && !oauth.SameIssuer(c.Issuer, r.Site.Issuer)) {
		return record{}, false
	}
	if c.Secret != "" && r.Client.Secret != "" && r.Client.ID == c.ClientID { // the operator's word is newer
		r.Client.Secret = c.Secret
	}
	return r, true
}

// secrets are the values in it that nobody is to be shown.
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

// register notes who we are at an authorization server, unless the operator said that.
func (r *record) register(c oauth.Client) {
	if c.Redirect == "" && c.Secret == "" || slices.Contains(r.Clients, c) {
		return
	}
	r.Clients = append(slices.Clone(r.Clients), c)
	if n := len(r.Clients); n > maxClients {
		r.Clients = r.Clients[n-maxClients:]
	}
}

// forget drops a registration that seems to be worth nothing any more: the next login registers anew.
func (r *record) forget(c oauth.Client) {
	r.Clients = slices.DeleteFunc(slices.Clone(r.Clients), func(known oauth.Client) bool { return known == c })
}

// without is the record when nobody is logged in any more.
func (r record) without() record {
	r.Token, r.Asked = oauth.Token{}, nil
	return r
}
