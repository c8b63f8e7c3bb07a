package serving

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"goblin-actor/actors/message"
	"goblin-actor/internal/client"
	"goblin-actor/internal/login"
)

// LoginPages returns the pages with which a browser on this machine logs in to servers. They are unavailable while
// clients must authenticate, since a browser has no API key. A reload that adds `auth` makes them unavailable.
func LoginPages(e *Security, listeners []net.Listener) *login.Pages {
	return login.New(func() string {
		if e.gate.Locked() {
			return ""
		}
		return loginBase(*e.publicURL.Load(), e.Secure, listeners)
	})
}

// loginBase returns the base URL of the login pages for a browser on this machine, or "" if there is none. publicURL
// is the configured publicUrl. secure means that the listeners use TLS.
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

// LoginURL returns a function that returns the login URL for a key. The gateway sends these URLs to clients. The URL is
// "" if an unauthenticated user may not use the login.
func (e *Security) LoginURL(pages *login.Pages) func(message.LoginKey) string {
	return func(key message.LoginKey) string {
		if !login.Key(key).MayBeUsedBy(e.gate.Anonymous()) {
			return ""
		}
		return pages.URL(login.Key(key))
	}
}

// LoginURL returns a function that returns the login URL for a key, for a gateway that serves only the user who started it.
func LoginURL(pages *login.Pages) func(message.LoginKey) string {
	return func(key message.LoginKey) string { return pages.URL(login.Key(key)) }
}
