package filter

import (
	"testing"

	"goblin-actor/internal/config"
)

// Whatever a URI is percent-encoded to, what is denied stays denied.
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
			case i < len("file:///") || c == '%' && pick&1 != 0: // the template's own literal, and what may be an encoding
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
			t.Errorf("%q is denied, %q is not", uri, spelled)
		}
	})
}
