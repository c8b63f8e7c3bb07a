package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const bodyShown = 200 // bytes of a StatusError's body

// StatusError is an HTTP error response without a JSON-RPC message that answers the request.
type StatusError struct {
	Code       int
	RetryAfter time.Duration // from Retry-After, seconds or date; 0 = none
	Body       []byte        // the first 1 KiB of the response's body
	Location   string        // target of a redirect that was not followed, without query and user; "" = none
	Scheme     string        // for 401: scheme of the first WWW-Authenticate challenge, such as "Basic"; "" = none, or a challenge is Bearer
}

// Error returns the status in words, and the beginning of the body:
//
//	HTTP 429 (Too Many Requests): "slow down"
//	HTTP 301 (Moved Permanently): moved to https://example.com/mcp; set url to that if you trust it
func (e *StatusError) Error() string {
	text := fmt.Sprintf("HTTP %d", e.Code)
	if name := http.StatusText(e.Code); name != "" {
		text += " (" + name + ")"
	}
	switch {
	case e.Location != "":
		return text + ": moved to " + e.Location + "; set url to that if you trust it"
	case len(e.Body) == 0:
		return text
	case len(e.Body) > bodyShown:
		return fmt.Sprintf("%s: %q", text, strings.ToValidUTF8(string(e.Body[:bodyShown]), "")+"…")
	}
	return fmt.Sprintf("%s: %q", text, e.Body)
}

// statuses describes what HTTP error statuses mean for a request: whether the server has refused it without executing
// it, and whether retrying may help. For a status that is not listed, it is unknown whether the server executed the
// request. Sources: RFC 9110 section 15, RFC 6585, RFC 8470 (425), RFC 7725 (451); 521, 522, 523, 525, 526 and 530
// are Cloudflare's, for an origin that it could not reach.
var statuses = map[int]struct{ refused, retryable bool }{
	300: {refused: true}, 301: {refused: true}, 302: {refused: true}, 303: {refused: true}, 305: {refused: true}, 307: {refused: true}, 308: {refused: true},
	400: {refused: true}, 401: {refused: true}, 402: {refused: true}, 403: {refused: true}, 404: {refused: true}, 405: {refused: true}, 406: {refused: true},
	407: {refused: true}, 408: {retryable: true}, 410: {refused: true}, 411: {refused: true}, 413: {refused: true}, 414: {refused: true}, 415: {refused: true},
	417: {refused: true}, 421: {refused: true, retryable: true}, 425: {refused: true, retryable: true}, 426: {refused: true},
	428: {refused: true}, 429: {refused: true, retryable: true}, 431: {refused: true}, 451: {refused: true},
	500: {retryable: true}, 501: {refused: true}, 502: {retryable: true}, 503: {retryable: true}, 504: {retryable: true}, 505: {refused: true}, 511: {refused: true},
	521: {refused: true, retryable: true}, 522: {refused: true, retryable: true}, 523: {refused: true, retryable: true}, 525: {refused: true, retryable: true},
	526: {refused: true}, 530: {refused: true, retryable: true},
}

// Refused reports whether the status means that the server did not execute the request. A 503 means that only with
// Retry-After: then the server itself, or a proxy in front of it, is turning requests away.
func (e *StatusError) Refused() bool {
	return statuses[e.Code].refused || e.Code == http.StatusServiceUnavailable && e.RetryAfter > 0
}

// Temporary reports whether the same request may succeed later.
func (e *StatusError) Temporary() bool { return statuses[e.Code].retryable || e.RetryAfter > 0 }
