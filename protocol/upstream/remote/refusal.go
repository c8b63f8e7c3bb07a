package remote

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"goblin-actor/protocol/upstream"
)

const (
	shownLocation = 300 // maximum length of a redirect's address in an error, in bytes
	schemeMax     = 32  // maximum length of an authentication scheme in an error, in bytes
)

// refusal returns the error for an HTTP error response without a JSON-RPC message for the request. body is the start
// of its body.
func (s *site) refusal(a *httpAnswer, body []byte) *upstream.StatusError {
	e := &upstream.StatusError{Code: a.status, RetryAfter: retryAfter(a.retryAfter, time.Now()), Body: bytes.Clone(body[:min(len(body), errorBodyBytes)])}
	switch {
	case a.status/100 == 3:
		e.Location = s.shownLocation(a.location)
	case a.status == http.StatusUnauthorized:
		e.Scheme = otherScheme(a.challenges())
	}
	return e
}

// shownLocation returns the address in a Location header without user, query and fragment, which may contain secrets.
// It returns "" for an address that is invalid or too long.
func (s *site) shownLocation(location string) string {
	to, err := s.url.Parse(location)
	if err != nil || location == "" || to.Host == "" {
		return ""
	}
	to.User, to.RawQuery, to.Fragment, to.RawFragment, to.ForceQuery = nil, "", "", "", false
	if text := to.String(); len(text) <= shownLocation {
		return text
	}
	return ""
}

// otherScheme returns the first authentication scheme of the challenges, or "" if one of them is Bearer.
func otherScheme(challenges []string) string {
	other := ""
	for _, challenge := range challenges {
		scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " ")
		scheme = strings.TrimSuffix(scheme, ",")
		switch {
		case strings.EqualFold(scheme, "Bearer"):
			return ""
		case other == "" && isToken(scheme) && len(scheme) <= schemeMax:
			other = scheme
		}
	}
	return other
}
