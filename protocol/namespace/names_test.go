package namespace

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"files": "files", "My Server": "my-server", "a_b.c": "a-b-c", "--x--": "x", "Größe": "gr-e", "9": "9", "a--b": "a--b",
	} {
		if got := Slug(name); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"", "-", "日本"} {
		if got := Slug(name); !IsSlug(got) || IsSlug(name) {
			t.Errorf("Slug(%q) = %q", name, got)
		}
	}
	if Slug("日本") == Slug("中国") {
		t.Error("two names have the same slug")
	}
}

func TestPublicName(t *testing.T) {
	cases := []struct {
		prefix, sep, name string
		max               int
		want              string
	}{
		{"files", "_", "read_file", 64, "files_read_file"}, // S2.5.1
		{"files", "_", "read file/é", 64, "files_read_file__"},
		{"", "_", "read", 64, "read"},
		{"gh", "--", "x.y", 0, "gh--x_y"},
		{"files", "_", strings.Repeat("x", 58), 64, "files_" + strings.Repeat("x", 58)},
	}
	for _, c := range cases {
		if got := PublicName(c.prefix, c.sep, c.name, c.max); got != c.want {
			t.Errorf("PublicName(%q, %q, %q, %d) = %q, want %q", c.prefix, c.sep, c.name, c.max, got, c.want)
		}
	}
	a, b := PublicName("files", "_", strings.Repeat("x", 80)+"a", 64), PublicName("files", "_", strings.Repeat("x", 80)+"b", 64)
	if len(a) != 64 || len(b) != 64 || a == b || a[:58] != b[:58] {
		t.Errorf("long names: %q, %q", a, b)
	}
	if a, b := WithSuffix("files_x", "one", 64), WithSuffix("files_x", "two", 64); a == b || !strings.HasPrefix(a, "files_x_") || len(a) != 14 {
		t.Errorf("WithSuffix: %q, %q", a, b)
	}
}

func TestPrefixURI(t *testing.T) {
	cases := []struct{ server, original, want string }{
		{"filesystem", "file:///logs/app.log", "resource://filesystem/file:///logs/app.log"},       // S3.3.1, C1.1
		{"db", "mcp://database/{table}/{id}", "resource://db/mcp://database/{table}/{id}"},         // S0.3.2
		{"app", "ui://main/view", "ui://app/main/view"},                                            // MCP Apps
		{"outer", "resource://inner/file:///x", "resource://outer/resource://inner/file:///x"},     // a gateway behind this one
		{"s", "odd uri? with#everything %zz é", "resource://s/odd uri? with#everything %zz é"},     // verbatim
		{"s3", "s3://bucket/config/app.json", "resource://s3/s3://bucket/config/app.json"},         // S0.2.3
		{"filesystem", "file:///config/app.json", "resource://filesystem/file:///config/app.json"}, // S0.2.3
	}
	for _, c := range cases {
		got := PrefixURI(c.server, c.original)
		if got != c.want {
			t.Errorf("PrefixURI(%q, %q) = %q, want %q", c.server, c.original, got, c.want)
		}
		if s, o, ok := SplitPrefixURI(got); s != c.server || o != c.original || !ok {
			t.Errorf("SplitPrefixURI(%q) = %q, %q, %v", got, s, o, ok)
		}
	}
	for _, uri := range []string{"", "file:///x", "resource://", "resource://a", "resource://a/", "resource://A/x", "resource:///x", "ui://a", "resource://a_b/x"} {
		if s, o, ok := SplitPrefixURI(uri); ok {
			t.Errorf("SplitPrefixURI(%q) = %q, %q", uri, s, o)
		}
	}
	if u, err := url.Parse(PrefixURI("filesystem", "file:///logs/app.log")); err != nil || u.Host != "filesystem" {
		t.Errorf("no RFC 3986 URI: %v, %v", u, err)
	}
}

func TestUnderscoreID(t *testing.T) {
	cases := []struct{ server, original, want string }{
		{"filesystem", "file:///logs/app.log", "filesystem_file___logs_app.log"}, // S0.2.1
		{"filesystem", "file:///path/to/file", "filesystem_file___path_to_file"}, // S1 D8
		{"s3", "s3://bucket/config/app.json", "s3_s3___bucket_config_app.json"},  // S0.2.3
		{"x", "a//b", "x_a_b"},              // C1.2
		{"x", "x:a__b  c!/", "x_x___a_b_c"}, // S0.2.2: special characters, runs, ends
		{"x", "urn:isbn:123", "x_urn___isbn_123"},
		{"x", "git+ssh://h/é~1-2", "x_git_ssh___h_~1-2"},
		{"db", "mcp://database/{table}/{id}", "db_mcp___database_table_id"},
		{"x", "1a:b", "x_1a_b"}, // no scheme begins with a digit
		{"x", ":", "x_"},
		{"x", "file:///", "x_file___"},
	}
	for _, c := range cases {
		if got := UnderscoreID(c.server, c.original); got != c.want {
			t.Errorf("UnderscoreID(%q, %q) = %q, want %q", c.server, c.original, got, c.want)
		}
	}
	a, b := UnderscoreID("f", "file:///a_b"), UnderscoreID("f", "file:///a/b")
	if a != b {
		t.Fatalf("%q, %q", a, b)
	}
	if x, y := UnderscoreSuffix(a, "file:///a_b"), UnderscoreSuffix(b, "file:///a/b"); x == y || !regexp.MustCompile(`^f_file___a_b~[a-z2-7]{6}$`).MatchString(x) {
		t.Errorf("UnderscoreSuffix: %q, %q", x, y)
	}
}

var publicName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// For any names and URIs: public names and slugs are valid, and SplitPrefixURI reverses PrefixURI.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"files", "read_file", "file:///logs/app.log", "ui://x/y", "Größe", "\xff\xfe", "a\\\"\n\x00b", "😀", "x:", "\u2028", "resource://a/b"} {
		f.Add("srv", s, 64)
		f.Add(s, s, 9)
	}
	f.Fuzz(func(t *testing.T, prefix, name string, limit int) {
		public := PublicName(prefix, "_", name, limit)
		if limit <= 0 {
			limit = 64
		}
		if !publicName.MatchString(public) || len(public) > limit {
			t.Fatalf("PublicName(%q, %q, %d) = %q", prefix, name, limit, public)
		}
		slug := Slug(prefix)
		if !IsSlug(slug) || Slug(slug) != slug {
			t.Fatalf("Slug(%q) = %q", prefix, slug)
		}
		if s, o, ok := SplitPrefixURI(PrefixURI(slug, name)); name != "" && name != "ui://" && (s != slug || o != name || !ok) {
			t.Fatalf("%q comes back as %q, %q, %v", name, s, o, ok)
		}
		id := UnderscoreID(slug, name)
		if !strings.HasPrefix(id, slug+"_") || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.~-_") != "" {
			t.Fatalf("UnderscoreID(%q, %q) = %q", slug, name, id)
		}
	})
}
