package oauth

import (
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	maxChallenges = 8       // WWW-Authenticate headers that are read
	maxChallenge  = 4 << 10 // longest of them; a longer one is not read
	maxScopes     = 64      // that are kept of one list
	maxScope      = 256     // bytes of one
	maxURL        = 2 << 10 // bytes of a URL that is taken from outside
)

// Challenge is what a server says of the credentials it wants (RFC 6750, section 3; RFC 9728, section 5.1).
type Challenge struct {
	Bearer   bool   // it asks for a bearer token
	Scheme   string // the first scheme that it asks for instead, such as "basic"; "" = none
	Metadata string // resource_metadata, a URL; "" = not said
	Scopes   []string
	Error    string // such as insufficient_scope; "" = not said
}

// ParseChallenge reads WWW-Authenticate headers. The first challenge for bearer tokens counts; a header that is invalid or too long is
// ignored.
func ParseChallenge(headers []string) Challenge {
	var other Challenge
	for _, header := range headers[:min(len(headers), maxChallenges)] {
		if len(header) > maxChallenge {
			continue
		}
		read, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, c := range read {
			if c.Scheme == "bearer" {
				return challengeOf(c.Params)
			}
			if other.Scheme == "" {
				other.Scheme = word(c.Scheme)
			}
		}
	}
	return other
}

func challengeOf(params map[string]string) Challenge {
	c := Challenge{Bearer: true, Scopes: Scopes(params["scope"]), Error: word(params["error"])}
	if u := params["resource_metadata"]; len(u) <= maxURL {
		c.Metadata = u
	}
	return c
}

// Scopes splits a list as OAuth writes them. What is no scope is left out, and so is what comes twice or beyond 64.
func Scopes(written string) []string {
	return scopesOf(strings.Fields(written))
}

func scopesOf(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) == maxScopes {
			break
		}
		if isScope(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// isScope follows RFC 6749, section 3.3.
func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// Union returns the scopes of both lists, those of the first before the new ones of the second.
func Union(a, b []string) []string {
	return scopesOf(slices.Concat(a, b))
}

// word returns a code of OAuth if s is one, else "".
func word(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return ""
	}
	return s
}
