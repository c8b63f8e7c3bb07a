package namespace

import "strings"

const (
	resourceScheme = "resource://"
	uiScheme       = "ui://" // MCP Apps: hosts look at the scheme, so it stays
)

// PrefixURI returns the public URI of a server's resource, or the public text of its template:
//
//	file:///a.txt  →  resource://files/file:///a.txt
//	ui://app/main  →  ui://files/app/main
//
// It is a pure prefix, so prefixing a template and expanding it, or expanding it and prefixing, is the same.
// (Except where a template expands to ui:// without saying so literally.)
func PrefixURI(server, original string) string {
	if rest, ok := strings.CutPrefix(original, uiScheme); ok {
		return uiScheme + server + "/" + rest
	}
	return resourceScheme + server + "/" + original
}

// SplitPrefixURI undoes PrefixURI. It reports false for URIs of another form; whether the server exists and has the
// resource is the catalog's knowledge.
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

// UnderscoreID returns the id of a resource in style underscore: <server>_<scheme>___<rest>, where ___ stands for the colon
// and the slashes after it and each run of characters outside [A-Za-z0-9.~-] in the rest is one _, none at its ends.
// It cannot be undone by itself, and two URIs may have the same id: UnderscoreSuffix tells these apart.
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

// UnderscoreSuffix tells id apart from another URI's equal one: ~ and six characters of a hash of the original URI.
func UnderscoreSuffix(id, original string) string { return id + "~" + shortHash(original) }

// schemeLength returns the length of the URI's scheme without its colon, 0 when it has none. // RFC 3986, 3.1
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

// idByte reports whether c stays as it is in an underscore id.
func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '~' || c == '-'
}

// appendCollapsed appends s with each run of other bytes as one _, none at its ends.
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
