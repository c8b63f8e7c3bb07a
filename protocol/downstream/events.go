package downstream

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"
)

// The transport of 2024-11-05 has two endpoints (MCP 2024-11-05, basic/transports, HTTP with SSE). GET …/sse opens a
// session and its stream. POST …/messages?sessionId=… carries the client's messages. The Handler manages the sessions;
// see EventStream.AcceptEndpoint and Exchange.Redirect.
const (
	eventsVerbs   = "GET, OPTIONS"
	messagesVerbs = "POST, OPTIONS"
	sessionParam  = "sessionId"
)

// routeEvents serves …/sse. It answers a POST with 405, so that clients that try streamable HTTP first fall back.
func (s *Server) routeEvents(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path []byte) {
	switch string(ctx.Request.Header.Method()) {
	case http.MethodGet:
		h.session, h.lastEvent = nil, nil
		s.get(ctx, c, h, path)
	case http.MethodOptions:
		s.options204(ctx, c, h, eventsVerbs)
	default:
		ctx.Response.Header.Set("Allow", eventsVerbs)
		s.refuse(ctx, c, refusedVerb)
	}
}

// routeMessages serves …/messages. Only the query names the session.
func (s *Server) routeMessages(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path, query []byte) {
	switch string(ctx.Request.Header.Method()) {
	case http.MethodPost:
		h.session = queryValue(query, sessionParam)
		s.post(ctx, c, h, path)
	case http.MethodOptions:
		s.options204(ctx, c, h, messagesVerbs)
	default:
		ctx.Response.Header.Set("Allow", messagesVerbs)
		s.refuse(ctx, c, refusedVerb)
	}
}

// queryValue returns the first value of a parameter, or nil if it is absent or has an invalid escape.
func queryValue(query []byte, name string) []byte {
	for len(query) > 0 {
		var pair []byte
		pair, query, _ = bytes.Cut(query, []byte("&"))
		key, value, _ := bytes.Cut(pair, []byte("="))
		if string(key) != name {
			continue
		}
		if bytes.ContainsAny(value, "%+") {
			plain, err := url.QueryUnescape(string(value))
			if err != nil {
				return nil
			}
			return []byte(plain)
		}
		return value
	}
	return nil
}
