package downstream

import (
	"net/http"
	"net/textproto"
	"strings"

	"github.com/valyala/fasthttp"

	"goblin-actor/protocol/stream"
)

// SetForwarded sets the names of the request headers that Origin.Forwarded holds, from the next request on. Initially there
// are none. The headers may hold credentials, so an Origin must not be logged. SetForwarded is safe for concurrent use.
func (s *Server) SetForwarded(names []string) {
	if len(names) == 0 {
		s.forwarded.Store(nil)
		return
	}
	canonical := make([]string, len(names))
	for i, name := range names {
		canonical[i] = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	}
	s.forwarded.Store(&canonical)
}

// forwardedInvalid reports whether a header to forward is repeated, so that its value is ambiguous, or has an invalid value.
func (s *Server) forwardedInvalid(h *fasthttp.RequestHeader) bool {
	names := s.forwarded.Load()
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

// forwardedOf copies the headers to forward. serverHeaderBytes limits their size.
func (s *Server) forwardedOf(h *fasthttp.RequestHeader) http.Header {
	names := s.forwarded.Load()
	if names == nil {
		return nil
	}
	var found http.Header
	for _, name := range *names {
		if value := h.Peek(name); len(value) > 0 {
			if found == nil {
				found = make(http.Header, len(*names))
			}
			found[name] = []string{string(value)}
		}
	}
	return found
}
