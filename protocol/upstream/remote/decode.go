package remote

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"goblin-actor/protocol/coding"
)

// acceptEncoding returns the Accept-Encoding header for a host, or "": a server on this machine has nothing to gain. configured, which is
// identity, gzip or "", replaces that rule: for a tunnel that begins on this machine, and for a server that compresses wrongly.
func acceptEncoding(host, configured string) string {
	if configured == "identity" || configured == "" && isLoopback(host) {
		return ""
	}
	return coding.Accept
}

// isLoopback reports whether a host name or address is this machine's own.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// decode prepares the body for its Content-Encoding, if it has one. Trips call it once the rest of a is known.
func (a *httpAnswer) decode(limit int, encodings ...string) {
	c, err := coding.Parse(encodings...)
	switch {
	case err != nil:
		a.unreadable, a.length, a.body = err, 0, http.NoBody
	case c != coding.Identity && a.length != 0:
		a.decoder = coding.NewReader(c, a.body, limit)
		a.length, a.body = -1, a.decoder
	}
}

// endDecode releases what decode has taken.
func (a *httpAnswer) endDecode() {
	a.unreadable = nil
	if a.decoder != nil {
		a.decoder.Close()
		a.decoder = nil
	}
}

// cannotDecode reports whether an error is the fault of a body's encoding, so that asking for the rest of the body is of no use.
func cannotDecode(err error) bool {
	return errors.Is(err, coding.ErrInvalid) || errors.Is(err, coding.ErrExpands)
}
