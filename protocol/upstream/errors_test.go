package upstream

import (
	"strings"
	"testing"
)

// A long body is cut at a character boundary and ends with "…". The ellipsis tells the redactor that a secret may be
// cut there.
func TestStatusErrorShowsTheBeginningOfItsBody(t *testing.T) {
	long := strings.Repeat("x", bodyShown-1)
	for _, c := range []struct{ body, want string }{
		{"", `HTTP 418 (I'm a teapot)`},
		{"no \"tea\"", `HTTP 418 (I'm a teapot): "no \"tea\""`},
		{long + "y", `HTTP 418 (I'm a teapot): "` + long + `y"`},
		{long + "yz", `HTTP 418 (I'm a teapot): "` + long + `y…"`},
		{long + "é", `HTTP 418 (I'm a teapot): "` + long + `…"`},
	} {
		if got := (&StatusError{Code: 418, Body: []byte(c.body)}).Error(); got != c.want {
			t.Errorf("body %q: got %s, want %s", c.body, got, c.want)
		}
	}
}
