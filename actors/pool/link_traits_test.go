package pool

import (
	"testing"

	"goblin-actor/internal/config"
)

func TestLinkTraits(t *testing.T) {
	url := []string{"http://127.0.0.1:1/"}
	for name, c := range map[string]struct {
		entry config.Server
		want  linkTraits
	}{
		"process":                  {config.Server{Command: "x"}, linkTraits{startsProcess: true}},
		"URL":                      {config.Server{URLs: url}, linkTraits{headers: true, mayServeBoth: true}},
		"URL, any version":         {config.Server{URLs: url, Protocol: "auto"}, linkTraits{headers: true, mayServeBoth: true}},
		"URL, one era":             {config.Server{URLs: url, Protocol: "modern"}, linkTraits{headers: true}},
		"URL, streamable HTTP":     {config.Server{URLs: url, Type: "http"}, linkTraits{headers: true, mayServeBoth: true}},
		"URL, deprecated HTTP+SSE": {config.Server{URLs: url, Type: "sse"}, linkTraits{headers: true}},
	} {
		if got := traitsOf(&c.entry); got != c.want {
			t.Errorf("traitsOf(%s) = %+v, want %+v", name, got, c.want)
		}
	}
}
