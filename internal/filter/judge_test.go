package filter

import (
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// FuzzDeniedBySpelling checks that a denied URI is also denied in other spellings: percent-encoded, or with repeated
// slashes or dot segments.
func FuzzDeniedBySpelling(f *testing.F) {
	f.Add("file:///srv/secret/key", []byte{1, 2, 3})
	f.Add("file:///srv/secret/%41/x", []byte{255})
	j := New(&config.Filter{Deny: []string{"file:///srv/secret/*"}})
	f.Fuzz(func(t *testing.T, uri string, which []byte) {
		if len(which) == 0 || len(uri) > 1000 || !Glob("file:///srv/secret/*", uri) {
			return
		}
		var spelled []byte
		for i := range len(uri) {
			c := uri[i]
			switch pick := which[i%len(which)]; {
			case i < len("file:///") || c == '%' && pick&1 != 0: // the template's literal text, and characters that may be part of an encoding
				spelled = append(spelled, c)
			case pick&3 == 1:
				spelled = append(spelled, '%', "0123456789abcdef"[c>>4], "0123456789ABCDEF"[c&15])
			case pick&3 == 3 && c == '/':
				spelled = append(spelled, "/./"...)
			case pick&3 == 2 && c == '/':
				spelled = append(spelled, "//"...)
			default:
				spelled = append(spelled, c)
			}
		}
		if j.Admits("file:///{+path}", string(spelled)) {
			t.Errorf("%q is denied, but %q is not", uri, spelled)
		}
	})
}

// FuzzNormalForm checks that normalization terminates and is idempotent, and that a URI that is not odd does not refer
// to a parent directory.
func FuzzNormalForm(f *testing.F) {
	f.Add("file:///a/../b")
	f.Add("HTTP://Host\\..;/%2e%2E//x?y=%2f")
	f.Fuzz(func(t *testing.T, uri string) {
		if len(uri) > 2000 {
			return
		}
		tidy := tidyURI(uri, true)
		if again := tidyURI(tidy, true); again != tidy {
			t.Fatalf("%q is normalized to %q, and that to %q", uri, tidy, again)
		}
		forms, odd := spellings(uri)
		if len(forms) > maxDecodings+1 {
			t.Fatalf("%d spellings of %q", len(forms), uri)
		}
		if !odd && strings.Contains(tidy+"/", "/../") {
			t.Fatalf("%q is not odd, but %q leads upwards", uri, tidy)
		}
	})
}
