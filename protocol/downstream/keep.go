package downstream

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/stream"
)

// Keep says which headers of requests are kept (Origin.Kept), from the next request on; none by default. They may be credentials:
// whoever has an Origin never shows them. Safe from any goroutine.
func (s *Server) Keep(names []string) {
	if len(names) == 0 {
		s.keeps.Store(nil)
		return
	}
	canonical := make([]string, len(names))
	for i, name := range names {
		canonical[i] = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	}
	s.keeps.Store(&canonical)
}

// keptTwice reports whether a header that is kept stands there twice, where nobody can tell which one counts, or cannot be sent on.
func (s *Server) keptTwice(h *fasthttp.RequestHeader) bool {
	names := s.keeps.Load()
	if names == nil {
		return false
	}
	for _, name := range *names {
		values := h.PeekAll(name)
		if len(values) > 1 || len(values) == 1 && !stream.IsHeaderValue(string(values[0])) {
			return true
		}
	}
	return false
}

// kept copies the headers that are kept. A request has no more of them than fit into serverHeaderBytes.
func (s *Server) kept(h *fasthttp.RequestHeader) http.Header {
	names := s.keeps.Load()
	if names == nil {
		return nil
	}
	var kept http.Header
	for _, name := range *names {
		if value := h.Peek(name); len(value) > 0 {
			if kept == nil {
				kept = make(http.Header, len(*names))
			}
			kept[name] = []string{string(value)}
		}
	}
	return kept
}
