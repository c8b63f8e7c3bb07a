package downstream

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"
)

// The transport of 2024-11-05 has two endpoints beside each other (MCP 2024-11-05, basic/transports, HTTP with SSE):
// GET …/sse opens a session and its stream, POST …/messages?sessionId=… carries the client's messages. Whose session
// that is, and what the stream says, is the Handler's business: see EventStream.AcceptEndpoint and Exchange.Redirect.
const (
	eventsVerbs   = "GET, OPTIONS"
	messagesVerbs = "POST, OPTIONS"
	sessionParam  = "sessionId"
)

// routeEvents serves …/sse. A POST is answered with 405: it tells clients that try streamable HTTP first to fall back.
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

// routeMessages serves …/messages. The session stands in the query, nowhere else.
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

// queryValue returns the first value of a parameter; nil = none.
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
