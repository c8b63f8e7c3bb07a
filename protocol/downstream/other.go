package downstream

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"

	"goblin-actor/internal/identity"
)

// otherBytes is the maximum body size of a request outside MCP. It is small because unauthenticated clients may send such
// requests.
const otherBytes = 64 << 10

// other serves the net/http handlers of paths outside MCP. Requests and responses are buffered as a whole. principal is put
// into the request's context (identity.From); it is nil if the request is not authenticated.
func (s *Server) other(ctx *fasthttp.RequestCtx, c *serverConn, h *knownHeader, path string, principal *identity.Principal) {
	var handler http.Handler
	if s.options.Other != nil {
		handler = s.options.Other(path)
	}
	if handler == nil {
		s.refuse(ctx, c, refusedPath)
		return
	}
	target, err := url.ParseRequestURI(string(ctx.RequestURI()))
	if err != nil {
		s.refuse(ctx, c, refusedMalformed)
		return
	}
	b, why := s.readBody(ctx, c, min(otherBytes, s.maxMessage))
	if why != refusedNothing {
		s.refuseBody(ctx, c, why)
		return
	}
	defer b.release()
	request := &http.Request{
		Method: string(ctx.Method()), URL: target, RequestURI: string(ctx.RequestURI()), Host: string(h.host),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header),
		Body: io.NopCloser(bytes.NewReader(b.bytes)), ContentLength: int64(len(b.bytes)), RemoteAddr: c.remoteOf(),
	}
	for name, value := range ctx.Request.Header.All() {
		request.Header.Add(string(name), string(value))
	}
	w := &wholeAnswer{header: make(http.Header)}
	handler.ServeHTTP(w, request.WithContext(identity.In(request.Context(), principal)))
	w.copyTo(ctx)
}

// wholeAnswer is an http.ResponseWriter that buffers the response until the handler returns.
type wholeAnswer struct {
	header, sent http.Header // sent is a copy of header at the time of WriteHeader
	status       int
	body         bytes.Buffer
}

func (w *wholeAnswer) Header() http.Header { return w.header }

func (w *wholeAnswer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status, w.sent = status, maps.Clone(w.header)
	}
}

func (w *wholeAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *wholeAnswer) copyTo(ctx *fasthttp.RequestCtx) {
	w.WriteHeader(http.StatusOK)
	ctx.SetStatusCode(w.status)
	for name, values := range w.sent {
		for _, value := range values {
			switch name {
			case "Content-Length", "Transfer-Encoding", "Connection":
			default:
				ctx.Response.Header.Add(name, value)
			}
		}
	}
	if len(ctx.Response.Header.ContentType()) == 0 && w.body.Len() > 0 {
		ctx.SetContentType(http.DetectContentType(w.body.Bytes()))
	}
	ctx.Response.SetBodyRaw(w.body.Bytes())
}
