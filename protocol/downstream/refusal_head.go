package downstream

import (
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// InvalidToken is the WWW-Authenticate header for an API key that is invalid or revoked (RFC 6750, section 3).
const InvalidToken = `Bearer realm="goblin-actor", error="invalid_token"`

// head sets the headers of a refusal. Here, 401 means that a key was revoked after its request was admitted, because
// refuseAdmission answers requests without a valid key.
func (v *verdict) head(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	switch v.status {
	case http.StatusMethodNotAllowed:
		h.Set("Allow", allowOf(string(ctx.Method())))
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", InvalidToken)
	}
	if v.retryAfter > 0 {
		setRetryAfter(h, v.retryAfter)
	}
}

// setRetryAfter sets Retry-After in whole seconds, rounded up.
func setRetryAfter(h *fasthttp.ResponseHeader, after time.Duration) {
	h.Set("Retry-After", retryAfterSeconds(after))
}

// retryAfterSeconds returns the value of Retry-After.
func retryAfterSeconds(after time.Duration) string {
	return strconv.Itoa(max(1, int((after+time.Second-1)/time.Second)))
}
