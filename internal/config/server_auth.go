package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// LogsIn reports whether the gateway may log in to the server, rather than send credentials from the file.
func (s *Server) LogsIn() bool {
	if len(s.URLs) == 0 || s.Auth.Type == "none" || len(s.Members) > 0 {
		return false
	}
	return s.Auth.Type != "auto" || !s.sendsAuthorization()
}

// HasLogins reports whether the gateway may log in to the server, or to a member of a group of servers.
func (s *Server) HasLogins() bool {
	for i := range s.Members {
		if s.Members[i].LogsIn() {
			return true
		}
	}
	return s.LogsIn()
}

// LaneOf returns the principal whose login is used for calls by the given principal, or "" for the shared login.
func (s *Server) LaneOf(principal string) string {
	if s.Auth.As != "principal" {
		return ""
	}
	return principal
}

// SameLogin reports whether a login to s is also valid for next: both log in, with the same first address and the same
// auth settings.
func (s *Server) SameLogin(next *Server) bool {
	return s.LogsIn() && next.LogsIn() && s.URLs[0] == next.URLs[0] && reflect.DeepEqual(s.Auth, next.Auth)
}

// UsesClientCredentials reports whether the gateway itself logs in for lane, with client credentials. Lane "" is the
// shared login.
func (a *ServerAuth) UsesClientCredentials(lane string) bool {
	return a.Type == "client" || lane == "" && a.As == "principal" && a.CatalogAs == "client"
}

// sendsAuthorization reports whether requests to the server have an Authorization header: one that the file sets, one
// that is forwarded from clients, or one for the user in a URL.
func (s *Server) sendsAuthorization() bool {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	for _, h := range s.ForwardHeaders {
		if strings.EqualFold(h.To, "Authorization") {
			return true
		}
	}
	for _, address := range s.URLs {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			return true
		}
	}
	return false
}

// checkAuth checks the login settings, and that clients with different logins do not share a connection.
func (d *decoder) checkAuth(s *Server, at func(string) string) {
	auth := &s.Auth
	key := func(name string) string { return join(at("auth"), name) }
	if auth.Type != "auto" && auth.Type != "none" && s.sendsAuthorization() {
		d.complain(key("type"), "the server already gets an Authorization header", "remove it from headers, forwardHeaders and url, or remove auth")
	}
	if auth.As == "principal" && (auth.Type == "none" || auth.Type == "client" || s.sendsAuthorization()) {
		d.complain(key("as"), "principals cannot log in separately to this server", "set type: oauth and send no Authorization header, or remove as")
	}
	if auth.As == "principal" {
		d.checkLanes(s, at)
	}
	if auth.CatalogAs != "shared" && auth.As != "principal" {
		d.complain(key("catalogAs"), "this requires as: principal", "set as: principal, or remove catalogAs")
	}
	robot := auth.Type == "client" || auth.CatalogAs == "client"
	for name, value := range map[string]string{"clientId": auth.ClientID, "clientSecret": auth.ClientSecret} {
		if robot && value == "" {
			d.complain(d.firstWritten(key(name), at("auth")), "client credentials need clientId and clientSecret", "")
		}
	}
	if auth.ClientMetadataURL != "" && !isHTTPS(auth.ClientMetadataURL, false) {
		d.complain(key("clientMetadataUrl"), "expected https://host/path, because the authorization server fetches it", "")
	}
	if o := d.report.origins[key("clientSecret")]; auth.ClientSecret != "" && auth.Issuer == "" && o.line > 0 {
		d.warn(o.line, o.column, key("clientSecret"), "it is sent to any authorization server that the server names", "name the expected one: issuer: https://…")
	}
	if auth.Issuer != "" && !isHTTPS(auth.Issuer, true) {
		d.complain(key("issuer"), "expected https://…, the issuer identifier of the authorization server", "")
	}
	if auth.ClientSecret != "" && auth.ClientID == "" && !robot {
		d.complain(d.firstWritten(key("clientId"), key("clientSecret")), "clientSecret needs a clientId", "add the clientId that belongs to it, or remove it")
	}
	for _, name := range []string{"clientId", "clientSecret", "clientMetadataUrl", "scopes", "issuer"} {
		switch {
		case auth.Type == "none":
			d.warnUnused(key(name), "a server without login (auth.type none)")
		case s.sendsAuthorization():
			d.warnUnused(key(name), "a server that already gets an Authorization header")
		}
	}
}

// checkLanes makes sure that calls with different logins never share a connection: it sets the default of isolation,
// and reports an unsuitable one.
func (d *decoder) checkLanes(s *Server, at func(string) string) {
	switch {
	case !d.written(at("isolation")):
		s.Isolation = "principal"
	case s.Isolation != "principal" && s.Isolation != "session":
		d.complain(at("isolation"), fmt.Sprintf("with isolation %s, principals share connections, but each has a separate login", s.Isolation), "remove isolation, or set it to principal or session")
	}
}

// isHTTPS reports whether text is an https URL without user and fragment. Without local, the URL must have a path. With
// local, an http URL of this machine is also allowed.
func isHTTPS(text string, local bool) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	if u.Scheme == "http" && local {
		return u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	}
	return u.Scheme == "https" && (local || len(u.Path) > 1)
}
