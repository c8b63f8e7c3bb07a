package auth

import (
	"net/http"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// The responses to refused requests (RFC 6750, section 3). Only an expired key gets a specific reason: it was valid
// once, so the reason reveals nothing new to its holder. These values are shared and never modified.
const challenge = `Bearer realm="goblin-actor"`

var (
	refusedNoCredential = refuse(http.StatusUnauthorized, challenge, protocol.Unauthenticated,
		"authentication required: send an API key in the header Authorization: Bearer gba_…")
	refusedInvalid = refuse(http.StatusUnauthorized, downstream.InvalidToken, protocol.Unauthenticated,
		"the API key is not valid")
	refusedExpired = refuse(http.StatusUnauthorized, downstream.InvalidToken+`, error_description="expired"`, protocol.Unauthenticated,
		"the API key has expired")
	refusedMalformed = refuse(http.StatusBadRequest, challenge+`, error="invalid_request"`, protocol.InvalidRequest,
		"malformed credential: send exactly one header Authorization: Bearer gba_…, and no access_token in the query")
	refusedForwarded = refuse(http.StatusBadRequest, "", protocol.InvalidRequest,
		"the proxy's forwarding headers are invalid: Forwarded and X-Real-IP must not be repeated, every address in them and in X-Forwarded-For must be valid, and Forwarded must agree with X-Forwarded-For")
	refusedTunnel = refuse(http.StatusForbidden, "", protocol.InvalidRequest,
		"this gateway is behind a proxy or tunnel but does not authenticate clients, so every client that reaches the proxy could use it; add to its configuration:\n"+
			"auth: {keys: keys.yaml}\ntrustedProxies: [127.0.0.1]\nand create a key with: goblin-actor key new NAME")
)

func refuse(status int, challenge string, name protocol.FaultName, message string) *downstream.Refusal {
	return &downstream.Refusal{Status: status, Challenge: challenge, Fault: &protocol.Fault{Name: name, Message: message}}
}

// rateLimited returns the response to a client that sends too many requests, or too many that fail.
func rateLimited(message string, after time.Duration) *downstream.Refusal {
	return &downstream.Refusal{Status: http.StatusTooManyRequests, Fault: &protocol.Fault{
		Name: protocol.RateLimited, Message: message, Retryable: true, RetryAfter: max(after, time.Second)}}
}

// refusedOverloaded is the response to a principal with too many concurrent requests. Its status is 503, as when a
// buffer is full: the body was not read, so there is no JSON-RPC request that a response with status 200 could answer.
var refusedOverloaded = &downstream.Refusal{Status: http.StatusServiceUnavailable, Fault: &protocol.Fault{
	Name: protocol.Overloaded, Message: "this principal has too many requests in flight", Retryable: true, RetryAfter: time.Second}}

// maxPathBytes is the maximum number of path bytes to report.
const maxPathBytes = 200
