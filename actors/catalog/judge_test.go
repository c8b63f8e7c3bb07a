package catalog

import (
	"testing"

	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// A denied or disabled resource cannot be reached by another spelling through an open template.
func TestDeniedResourcesBySpelling(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "files", 0).resources("file:///srv/secret/key.pem", "file:///off", "file:///srv/%73ecret/listed").
		templates("file:///{+path}", "docs://{+path}", "q://read{?path}").rules(func(s *config.Server) {
		s.ResourceFilter.Deny = []string{"file:///srv/secret/*", "docs://Secret/*", "file:///a%20b/*", "q://read?path=/srv/secret*"}
		s.ResourceFilter.Disabled = []string{"file:///off"}
	}))
	for _, uri := range []string{
		"file:///srv/secret/key.pem", "file:///srv/%73ecret/key.pem", "file:///srv/%2573ecret/key.pem", "file:///srv/x/../secret/key.pem",
		"file:///srv//secret/key.pem", "file:////srv/secret/key.pem", "file:///srv/./secret/key.pem", "file:///srv/secret%2Fkey.pem",
		"file:///srv/x/..%2Fsecret/key.pem", "file:///srv/x/%2e%2e/secret/key.pem", `file:///srv\secret\key.pem`, "file:///srv/secret%5ckey.pem",
		"file:///srv/secret//", "file:///srv/secret/%00", "file:///x/y/..;/../srv/secret/k", "file:///srv/%25252525252573ecret/key.pem",
		"file:///of%66", "file:////off", "file:///off/", "docs://secret/x", "docs://SECRET/x", "file:///a b/c", "file:///%61%20b/c",
		"file:///srv/secret/listed", "file:///srv/%73ecret/listed", "q://read?path=%2Fsrv%2Fsecret%2Fkey", "q://read?path=%2Fsrv%2Fx%2F..%2Fsecret", "q://read?path=../secret",
	} {
		for _, spelled := range []string{uri, namespace.PrefixURI("files", uri)} {
			if got := found(v, spelled); got != "RESOURCE_NOT_FOUND" {
				t.Errorf("Resource(%q) = %s, want RESOURCE_NOT_FOUND", spelled, got)
			}
		}
	}
	for _, uri := range []string{
		"file:///srv/other/key.pem", "file:///srv/..hidden/a...b", "file:///with%20space/%C3%BC", "file:///srv/secrets", "file:///100%25", "q://read?path=%2Fsrv%2Fother",
	} {
		if got := found(v, namespace.PrefixURI("files", uri)); got != "files "+uri {
			t.Errorf("Resource(%q) = %s, want it found", uri, got)
		}
	}
	if got := len(v.Entries(protocol.Resources)); got != 0 {
		t.Errorf("%d resources are listed, want none: all are denied", got)
	}
}

// An allow list limits the expansions of a template, unless a pattern names the template itself.
func TestAllowedResourcesByTemplate(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "files", 0).resources("file:///pub/a", "file:///srv/secret").
		templates("file:///pub/{+path}", "file:///{+path}", "db://{table}/{id}").rules(func(s *config.Server) {
		s.ResourceFilter.Allow = []string{"file:///pub/*", "db://{table}/*"}
	}))
	for uri, want := range map[string]bool{
		"file:///pub/a": true, "file:///pub/b/c": true, "file:///pub/b%20c": true, "db://users/1": true,
		"file:///srv/secret": false, "file:///srv/other": false, "file:///pub/..": false, "file:///pub/../srv/secret": false, "file:///pub/%2e%2e%2fsrv%2fsecret": false,
		"file:///pub/..%2Fsrv%2Fsecret": false, "file:///pub/x/%2E%2E/%2E%2E/srv": false, `file:///pub/..\srv`: false, "db://users/..": false, "db://users/a%2Fb": false,
	} {
		if got := found(v, namespace.PrefixURI("files", uri)); (got == "files "+uri) != want {
			t.Errorf("Resource(%q) = %s, want %v", uri, got, want)
		}
	}
}

// Without rules every URI is passed on, since only the server knows its meaning.
func TestWithoutRulesURIsPass(t *testing.T) {
	v := whole(standard(stylePrefix), server(t, "files", 0).templates("file:///{+path}"))
	for _, uri := range []string{"file:///a/../b", "file:///a%2Fb", "file:////"} {
		if got := found(v, namespace.PrefixURI("files", uri)); got != "files "+uri {
			t.Errorf("Resource(%q) = %s, want it found", uri, got)
		}
	}
}
