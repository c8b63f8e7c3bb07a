package serving

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"goblin-actor/actors/message"
	"goblin-actor/internal/admin"
	"goblin-actor/internal/client"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/login"
)

// LoginPages are the pages on which a browser on this machine logs in at servers.
// Where everybody has to show a key, which a reload can begin, no browser could, and there are none.
func LoginPages(e *Security, listeners []net.Listener) *login.Pages {
	return login.New(func() string {
		if e.gate.Locked() {
			return ""
		}
		return loginBase(*e.publicURL.Load(), e.Secure, listeners)
	})
}

// loginBase is where the login pages stand for a browser on this machine; "" = nowhere. publicURL is the configuration's, secure says what the
// listeners speak.
func loginBase(publicURL string, secure bool, listeners []net.Listener) string {
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" && client.IsLoopback(u.Hostname()) {
		return strings.TrimSuffix(publicURL, "/")
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	for _, l := range listeners {
		if address, err := netip.ParseAddrPort(l.Addr().String()); err == nil && address.Addr().IsLoopback() {
			return scheme + address.String()
		}
	}
	return ""
}

// LoginURL is what the gateway tells clients whose login is missing. Where whoever opens it may not log in, as no role of a policy lets him act for
// all, there is none.
func (e *Security) LoginURL(pages *login.Pages) func(message.LoginKey) string {
	return func(key message.LoginKey) string {
		if !login.Key(key).MayBeUsedBy(e.gate.Anonymous()) {
			return ""
		}
		return pages.URL(login.Key(key))
	}
}

// LoginURL is that of pages which are for whoever started us.
func LoginURL(pages *login.Pages) func(message.LoginKey) string {
	return func(key message.LoginKey) string { return pages.URL(login.Key(key)) }
}

// LoginRoutes let the owner of the admin socket log in.
func LoginRoutes(pages *login.Pages) []admin.Route {
	routes := []admin.Route{}
	for verb, path := range LoginActions {
		routes = append(routes, admin.Route{Pattern: "POST " + path, Handler: pages.HandlerFor(identity.Local, verb)})
	}
	return routes
}

// LoginActions are the paths of what a login can be asked for, on the admin socket.
var LoginActions = map[string]string{"begin": "/actions/login", "finish": "/actions/login-finish", "logout": "/actions/logout"}
