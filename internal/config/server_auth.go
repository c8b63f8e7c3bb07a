package config

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// LogsIn tells whether the gateway may have a login of its own at the server, one that its file does not hold in headers.
func (s *Server) LogsIn() bool {
	if len(s.URLs) == 0 || s.Auth.Type == "none" || len(s.Members) > 0 {
		return false
	}
	return s.Auth.Type != "auto" || !s.sendsAuthorization()
}

// LaneOf is whose login a client's calls use at the server: "" = the one that is for everybody.
func (s *Server) LaneOf(principal string) string {
	if s.Auth.As != "principal" {
		return ""
	}
	return principal
}

// SameLogin tells whether a login at one of them is one at the other, too: it is the same server, asked for in the same way.
func (s *Server) SameLogin(next *Server) bool {
	return s.LogsIn() && next.LogsIn() && s.URLs[0] == next.URLs[0] && reflect.DeepEqual(s.Auth, next.Auth)
}

// Robot tells whether nobody logs in for a lane ("" = everybody's): the gateway does, by client credentials.
func (a *ServerAuth) Robot(lane string) bool {
	return a.Type == "client" || lane == "" && a.As == "principal" && a.CatalogAs == "client"
}

// sendsAuthorization tells whether the file says itself who the gateway is there, or has clients say it.
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

// checkAuth checks how the gateway logs in, and that nobody shares a connection whose login differs.
func (d *decoder) checkAuth(s *Server, at func(string) string) {
	auth := &s.Auth
	key := func(name string) string { return join(at("auth"), name) }
	if auth.Type != "auto" && auth.Type != "none" && s.sendsAuthorization() {
		d.complain(key("type"), "the server gets a header Authorization already", "remove it from headers, forwardHeaders and url, or remove auth")
	}
	if auth.As == "principal" && (auth.Type == "none" || auth.Type == "client" || s.sendsAuthorization()) {
		d.complain(key("as"), "there is no login of each principal to use", "as: principal goes with type: oauth")
	}
	if auth.As == "principal" {
		d.checkLanes(s, at)
	}
	if auth.CatalogAs != "shared" && auth.As != "principal" {
		d.complain(key("catalogAs"), "what is listed comes with the login that all share", "catalogAs goes with as: principal")
	}
	robot := auth.Type == "client" || auth.CatalogAs == "client"
	for name, value := range map[string]string{"clientId": auth.ClientID, "clientSecret": auth.ClientSecret} {
		if robot && value == "" {
			d.complain(d.firstWritten(key(name), at("auth")), "client credentials need clientId and clientSecret", "")
		}
	}
	if auth.ClientMetadataURL != "" && !isHTTPS(auth.ClientMetadataURL, false) {
		d.complain(key("clientMetadataUrl"), "want https://host/path: the authorization server fetches it", "")
	}
	if o := d.report.origins[key("clientSecret")]; auth.ClientSecret != "" && auth.Issuer == "" && o.line > 0 {
		d.warn(o.line, o.column, key("clientSecret"), "it is sent to whatever authorization server the server names", "name the one that is meant: issuer: https://…")
	}
	if auth.Issuer != "" && !isHTTPS(auth.Issuer, true) {
		d.complain(key("issuer"), "want https://…, as the authorization server calls itself", "")
	}
	if auth.ClientSecret != "" && auth.ClientID == "" && !robot {
		d.complain(d.firstWritten(key("clientId"), key("clientSecret")), "a clientSecret goes with a clientId", "write the clientId that the authorization server has given with it, or remove it")
	}
	for _, name := range []string{"clientId", "clientSecret", "clientMetadataUrl", "scopes", "issuer"} {
		switch {
		case auth.Type == "none":
			d.useless(key(name), "a server at which nobody logs in (auth.type none)")
		case s.sendsAuthorization():
			d.useless(key(name), "a server that gets a header Authorization already")
		}
	}
}

// checkLanes: calls with different logins never share a connection.
func (d *decoder) checkLanes(s *Server, at func(string) string) {
	switch {
	case !d.written(at("isolation")):
		s.Isolation = "principal"
	case s.Isolation != "principal" && s.Isolation != "session":
		d.complain(at("isolation"), fmt.Sprintf("%s has principals share connections, and each has a login of its own", s.Isolation), "remove isolation, or write principal or session")
	}
}

// isHTTPS tells whether text is the address of a document or issuer; local: also one on this machine, without TLS.
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
