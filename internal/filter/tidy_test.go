package filter

import (
	"testing"

	"goblin-actor/internal/config"
)

// TestDeniedBySpellingOfHost checks that deny applies to every spelling of scheme and host, also inside a public URI.
func TestDeniedBySpellingOfHost(t *testing.T) {
	j := New(&config.Filter{Deny: []string{
		"resource://web/http://intra/*", "resource://files/file:///secret/*", "resource://db/pg://Main/*", "file:///secret/*", "https://intra/*",
		"file:///etc/passwd",
	}})
	for _, uri := range []string{
		"resource://web/http://INTRA/x", "resource://web/HTTP://intra/x", "resource://web/http://intra:80/x", "resource://web/http:///intra/x",
		"resource://web/http:intra/x", `resource://web/http:\\intra\x`, "resource://web/http://ada@intra/x", "resource://web/http://intra./x",
		"resource://web/%48TTP://INTRA/x", "resource://web/http%3A//INTRA/x", "resource://web//HTTP://INTRA/x", "resource://web/http://intra?x",
		"resource://files/FILE:///secret/x", "resource://files/file:///Secret/x", "resource://files/file://localhost/secret/x", "resource://files/File://LOCALHOST//secret/x",
		"resource://db/pg://MAIN/x", "resource://db/PG://main/x",
		"file:///etc/passwd", "file:///etc/passwd#x", "file:///etc/passwd?x", "file:///etc/passwd/?x#y", "file:///etc/passwd%23", "file:///etc/passwd ", " file:///etc/passwd",
		"resource://files/ file:///secret/x", "resource://files/%20FILE:///secret/x",
		"file://localhost/secret/x", "FILE://LocalHost/secret/x", "file:/secret/x",
		"https://intra:443/x", "https://intra:/x", "https://u:p@intra/x", "https://intra./x", "https:/INTRA/x", "https:INTRA/x", "https://intra?x", "https://INTRA#x",
	} {
		if j.Admits("", uri) {
			t.Errorf("%q is not denied", uri)
		}
	}
	for _, uri := range []string{
		"resource://web/http://intra:8080/x", "resource://web/http://intranet/x", "resource://files/file:///public/secret", "file:///etc/passwd2", "file:///x#/etc/passwd", "file:///x?file:///etc/passwd", "https://intra.example/x", "https://example/intra/x", "file:///localhost/secret/x", "resource://web/http://x/?next=http://intra/y",
	} {
		if !j.Admits("", uri) {
			t.Errorf("%q is denied", uri)
		}
	}
}

// TestAllowedHost checks that allow matches the URI in a public URI, and that a user before @ is not taken for a
// host.
func TestAllowedHost(t *testing.T) {
	j := New(&config.Filter{Allow: []string{"resource://web/https://ok.example*", "resource://web/https://ok.example/*"}})
	for uri, want := range map[string]bool{
		"resource://web/https://ok.example/x":          true,
		"resource://web/https://ok.example@evil.org/x": false,
		"resource://web/https://evil.org/x":            false,
	} {
		if got := j.Admits("", uri); got != want {
			t.Errorf("%q: admitted %v, want %v", uri, got, want)
		}
	}
}
