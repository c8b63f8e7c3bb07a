package coding

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		headers []string
		want    Coding
		err     string // a part of it; "" = none
	}{
		{nil, Identity, ""},
		{[]string{""}, Identity, ""},
		{[]string{"identity"}, Identity, ""},
		{[]string{"none"}, Identity, ""},
		{[]string{"UTF-8"}, Identity, ""},
		{[]string{"gzip"}, Gzip, ""},
		{[]string{" GZip\t"}, Gzip, ""},
		{[]string{"x-gzip"}, Gzip, ""},
		{[]string{"identity, gzip, "}, Gzip, ""},
		{[]string{"deflate"}, Deflate, ""},
		{[]string{"br"}, Identity, `Content-Encoding "br"; set the server`},
		{[]string{"zstd"}, Identity, `"zstd"`},
		{[]string{"gzip;q=1"}, Identity, `"gzip;q=1"`},
		{[]string{"gzip, gzip"}, Identity, `"gzip, gzip"; set the server, or the proxy in front of it, to use only one encoding`},
		{[]string{"gzip", "deflate"}, Identity, `"gzip, deflate"; set the server, or the proxy in front of it, to use only one encoding`},
		{[]string{strings.Repeat("x", 500)}, Identity, `"` + strings.Repeat("x", shownBytes) + `"`},
	} {
		got, err := Parse(test.headers...)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && (!errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: %v, %v", test.headers, got, err)
		}
	}
}
