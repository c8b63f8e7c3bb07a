package downstream

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/stream"
)

// SetForwarded sets the names of the request headers that Origin.Kept holds, from the next request on. Initially there are none.
// The headers may hold credentials, so an Origin must not be logged. SetForwarded is safe for concurrent use.
func (s *Server) SetForwarded(names []string) {
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

// keptInvalid reports whether a header to keep is repeated, so that its value is ambiguous, or cannot be forwarded.
func (s *Server) keptInvalid(h *fasthttp.RequestHeader) bool {
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

// kept copies the headers to keep. serverHeaderBytes limits their size.
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
