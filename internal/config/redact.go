package config

import (
	"net/url"
	"regexp"
	"strings"
)

const redacted = "[redacted]"

var (
	// variable is `${NAME}` or `${NAME:-default}`.
	variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`)

	// scheme is what stands before a token in an Authorization header.
	scheme = regexp.MustCompile(`^(?i:bearer|basic|token|digest) *$`)

	// telling is in the name of a flag or a query parameter whose value is a secret.
	telling = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|credential|auth|signature|^sig$|^code$|header`)
)

// hideSecret leaves the variables of s and the scheme of an Authorization header, and hides all other text.
func hideSecret(s string) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	last := 0
	for _, at := range variable.FindAllStringIndex(s, -1) {
		b.WriteString(hideLiteral(s[last:at[0]]))
		name, _, hasDefault := strings.Cut(s[at[0]:at[1]], ":-")
		b.WriteString(name)
		if hasDefault {
			b.WriteString(":-" + redacted + "}")
		}
		last = at[1]
	}
	if last == 0 {
		return redacted
	}
	b.WriteString(hideLiteral(s[last:]))
	return b.String()
}

func hideLiteral(s string) string {
	if s == "" || scheme.MatchString(s) {
		return s
	}
	return redacted
}

// hideInURL hides the password and the values of the query of a URL; other text stays as it is.
func hideInURL(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	head, query, hasQuery := strings.Cut(s, "?")
	if u, err := url.Parse(head); err != nil || u.User != nil || strings.Contains(head, "@") {
		before, rest, _ := strings.Cut(head, "://")
		authority, path, hasPath := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			authority = hideSecret(authority[:i]) + authority[i:]
		}
		if head = before + "://" + authority; hasPath {
			head += "/" + path
		}
	}
	if !hasQuery {
		return unbracket(head)
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		pairs[i] = name + "=" + hideSecret(value)
	}
	return unbracket(head + "?" + strings.Join(pairs, "&"))
}

// unbracket keeps a URL one: brackets may not stand in most of its parts.
func unbracket(s string) string { return strings.ReplaceAll(s, redacted, "redacted") }

// hideInArgument hides the value of a flag whose name tells that it is a secret, in one word (--token=x) or in two,
// and of a header (--header "Authorization: Bearer x"). before is the word before.
func hideInArgument(before, word string) string {
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && telling.MatchString(before) && !strings.HasPrefix(word, "-") {
		if name, value, isHeader := strings.Cut(word, ":"); isHeader && strings.Contains(strings.ToLower(before), "header") {
			blank := value[:len(value)-len(strings.TrimLeft(value, " "))]
			return name + ":" + blank + hideSecret(value[len(blank):])
		}
		return hideSecret(word)
	}
	name, value, joined := strings.Cut(word, "=")
	if joined && !strings.Contains(name, "://") && telling.MatchString(name) {
		return name + "=" + hideSecret(value)
	}
	return word
}
