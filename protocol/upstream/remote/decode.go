package remote

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"goblin-actor/protocol/coding"
)

// acceptEncoding returns the Accept-Encoding header for a host, or "" for this machine, where compression does not
// help. configured, which is identity, gzip or "", overrides that: for a tunnel that starts on this machine, and for a
// server that compresses incorrectly.
func acceptEncoding(host, configured string) string {
	if configured == "identity" || configured == "" && isLoopback(host) {
		return ""
	}
	return coding.Accept
}

// isLoopback reports whether a host name or address refers to this machine.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// decode prepares the decoding of a body with a Content-Encoding. The other fields of a must be set.
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

// endDecode releases the resources of decode.
func (a *httpAnswer) endDecode() {
	a.unreadable = nil
	if a.decoder != nil {
		a.decoder.Close()
		a.decoder = nil
	}
}

// cannotDecode reports whether an error is caused by the encoding of a body. Resuming the body would not help.
func cannotDecode(err error) bool {
	return errors.Is(err, coding.ErrInvalid) || errors.Is(err, coding.ErrExpands)
}
