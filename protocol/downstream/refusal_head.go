package downstream

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// InvalidToken is the WWW-Authenticate of an answer to whoever shows a key that does not count, or no longer. // RFC 6750, section 3
const InvalidToken = `Bearer realm="goblin-actor", error="invalid_token"`

// head sets the headers that a refusal's status comes with. One with 401 is of somebody who was let in and whose key counts no more: whoever
// is not let in is answered by the Admission.
func (v *verdict) head(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	switch v.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowOf(ctx))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", InvalidToken)
	}
	if v.retryAfter > 0 {
		setRetryAfter(h, v.retryAfter)
	}
}

// setRetryAfter says it in whole seconds, rounded up.
func setRetryAfter(h *fasthttp.ResponseHeader, after time.Duration) {
	h.Set("Retry-After", strconv.Itoa(max(1, int((after+time.Second-1)/time.Second))))
}
