package auth

import (
	"bytes"
	"net/url"
	"strings"

	"goblin-actor/protocol/downstream"
)

// credentialKind classifies the credential that a request presents.
type credentialKind uint8

const (
	presentedNothing   credentialKind = iota // no Authorization header, or a scheme other than Bearer
	presentedBearer                          // Authorization: Bearer …
	presentedMalformed                       // violates RFC 6750, appears twice, or is in the query
)

// bearerOf returns the bearer token of a request. A token in the query is refused even if the request also has a
// header, because URLs are logged everywhere. RFC 6750, sections 2.1 and 3.1; MCP 2025-11-25, basic/authorization,
// token requirements.
func bearerOf(r *downstream.Request) (token []byte, kind credentialKind) {
	if r.Authorizations > 1 {
		return nil, presentedMalformed
	}
	if queryHasToken(r.Query) {
		return nil, presentedMalformed
	}
	return parseBearer(r.Authorization)
}

// parseBearer parses the value of an Authorization header. A nil value means that the header is absent.
func parseBearer(value []byte) (token []byte, kind credentialKind) {
	scheme, token, found := bytes.Cut(value, []byte(" "))
	switch {
	case value == nil, !bytes.EqualFold(scheme, []byte("Bearer")):
		return nil, presentedNothing // another scheme: the challenge names the accepted one
	case !found:
		return nil, presentedMalformed
	}
	token = bytes.TrimLeft(token, " ")
	if !isToken68(token) {
		return nil, presentedMalformed
	}
	return token, presentedBearer
}

// isToken68 reports whether token has the form token68 of RFC 9110, section 11.2.
func isToken68(token []byte) bool {
	body := bytes.TrimRight(token, "=")
	for _, c := range body {
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return len(body) > 0
}

// queryHasToken reports whether the query has a parameter access_token, percent-encoded or not.
func queryHasToken(query []byte) bool {
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		name, _, _ := bytes.Cut(pair, []byte("="))
		if string(name) == "access_token" {
			return true
		}
		if bytes.IndexByte(name, '%') >= 0 {
			if plain, err := url.QueryUnescape(string(name)); err == nil && plain == "access_token" {
				return true
			}
		}
	}
	return false
}
