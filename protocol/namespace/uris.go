package namespace

import "strings"

const (
	resourceScheme = "resource://"
	uiScheme       = "ui://" // MCP Apps: hosts check the scheme, so it is kept
)

// PrefixURI returns the public URI of a server's resource, or the public text of a template:
//
//	file:///a.txt  →  resource://files/file:///a.txt
//	ui://app/main  →  ui://files/app/main
//
// It changes only the beginning of the URI, so prefixing and expanding a template commute, except for a template
// whose expansion starts with ui:// although its text does not.
func PrefixURI(server, original string) string {
	if rest, ok := strings.CutPrefix(original, uiScheme); ok {
		return uiScheme + server + "/" + rest
	}
	return resourceScheme + server + "/" + original
}

// SplitPrefixURI is the inverse of PrefixURI. It reports false for URIs of another form. It does not check whether the server
// exists.
func SplitPrefixURI(public string) (server, original string, ok bool) {
	if rest, found := strings.CutPrefix(public, resourceScheme); found {
		server, original, ok = strings.Cut(rest, "/")
	} else if rest, found := strings.CutPrefix(public, uiScheme); found {
		server, original, ok = strings.Cut(rest, "/")
		original = uiScheme + original
	}
	if !ok || original == "" || !IsSlug(server) {
		return "", "", false
	}
	return server, original, true
}

// UnderscoreID returns the id of a resource in underscore style: <server>_<scheme>___<rest>. ___ replaces the colon and
// the slashes after it. In the rest, each run of characters outside [A-Za-z0-9.~-] becomes one _, or nothing at the
// beginning and end of the rest. The id cannot be reversed, and two URIs may have the same id; UnderscoreSuffix
// distinguishes them.
//
//	filesystem, file:///logs/app.log  →  filesystem_file___logs_app.log
func UnderscoreID(server, original string) string {
	b := make([]byte, 0, len(server)+len(original)+4)
	b = append(append(b, server...), '_')
	if n := schemeLength(original); n > 0 {
		b = appendCollapsed(b, original[:n])
		b = append(b, "___"...)
		original = original[n+1:]
	}
	return string(appendCollapsed(b, original))
}

// UnderscoreSuffix makes id unique by appending ~ and six characters of a hash of the original URI.
func UnderscoreSuffix(id, original string) string { return id + "~" + shortHash(original) }

// schemeLength returns the length of the URI's scheme without the colon, or 0 if it has none. RFC 3986, section 3.1
func schemeLength(uri string) int {
	for i := range len(uri) {
		c := uri[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// idByte reports whether an underscore id keeps c.
func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '~' || c == '-'
}

// appendCollapsed appends s with each run of other bytes replaced by one _. It omits such runs at the ends of s.
func appendCollapsed(dst []byte, s string) []byte {
	start, gap := len(dst), false
	for i := range len(s) {
		if !idByte(s[i]) {
			gap = true
			continue
		}
		if gap && len(dst) > start {
			dst = append(dst, '_')
		}
		gap = false
		dst = append(dst, s[i])
	}
	return dst
}
