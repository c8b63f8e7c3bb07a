package auth

import (
	"bytes"
	"net/url"
	"strings"

	"goblin-actor/protocol/downstream"
)

// presented is what a request says about who asks.
type presented uint8

const (
	presentedNothing   presented = iota // no credential, or none of a kind we take
	presentedBearer                     // Authorization: Bearer …
	presentedMalformed                  // in a way that RFC 6750 forbids, or twice
)

// bearerOf finds the credential of a request. One in the query is refused, whatever else there is: addresses are logged
// everywhere. RFC 6750, sections 2.1 and 3.1; MCP 2025-11-25, basic/authorization, token requirements.
func bearerOf(r *downstream.Request) (token []byte, kind presented) {
	if r.Authorizations > 1 {
		return nil, presentedMalformed
	}
	if namesToken(r.Query) {
		return nil, presentedMalformed
	}
	return parseBearer(r.Authorization)
}

// parseBearer reads the value of Authorization; nil = there is none.
func parseBearer(value []byte) (token []byte, kind presented) {
	scheme, token, found := bytes.Cut(value, []byte(" "))
	switch {
	case value == nil, !bytes.EqualFold(scheme, []byte("Bearer")):
		return nil, presentedNothing // of another kind: the challenge says which one we take
	case !found:
		return nil, presentedMalformed
	}
	token = bytes.TrimLeft(token, " ")
	if !isToken68(token) {
		return nil, presentedMalformed
	}
	return token, presentedBearer
}

// isToken68 checks the form of RFC 9110, section 11.2.
func isToken68(token []byte) bool {
	body := bytes.TrimRight(token, "=")
	for _, c := range body {
		if ('a' > c || c > 'z') && ('A' > c || c > 'Z') && ('0' > c || c > '9') && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return len(body) > 0
}

// namesToken reports whether a query has the parameter access_token, however it is written.
func namesToken(query []byte) bool {
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
