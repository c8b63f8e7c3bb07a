package oauth

import (
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const (
	maxChallenges = 8       // WWW-Authenticate headers to read
	maxChallenge  = 4 << 10 // bytes of a header; a longer one is ignored
	maxScopes     = 64      // scopes of a list
	maxScope      = 256     // bytes of a scope
	maxURL        = 2 << 10 // bytes of a URL from outside
)

// Challenge is a server's challenge for credentials (RFC 6750, section 3; RFC 9728, section 5.1).
type Challenge struct {
	Bearer   bool   // the server asks for a bearer token
	Scheme   string // if Bearer is false: the first scheme that the server asks for, such as "basic"; "" = none
	Metadata string // resource_metadata, a URL; "" = absent
	Scopes   []string
	Error    string // such as insufficient_scope; "" = absent
}

// ParseChallenge parses WWW-Authenticate headers. It returns the first bearer challenge or, if there is none, the
// scheme of the first other challenge. It reads at most 8 headers, and ignores those that are invalid or too long.
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
				other.Scheme = oauthCode(c.Scheme)
			}
		}
	}
	return other
}

func challengeOf(params map[string]string) Challenge {
	c := Challenge{Bearer: true, Scopes: Scopes(params["scope"]), Error: oauthCode(params["error"])}
	if u := params["resource_metadata"]; len(u) <= maxURL {
		c.Metadata = u
	}
	return c
}

// Scopes splits a space-separated list of scopes. It drops invalid and duplicate scopes, and those beyond maxScopes.
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

// isScope reports whether s is a scope-token of RFC 6749, section 3.3, of at most maxScope bytes.
func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}

// Union returns the scopes of a followed by those of b that are not in a. It drops the same scopes as Scopes.
func Union(a, b []string) []string {
	return scopesOf(slices.Concat(a, b))
}

// oauthCode returns s if it has the form of an OAuth error code, and "" otherwise.
func oauthCode(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return ""
	}
	return s
}
