package auth

import (
	"net/http"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// The answers to those who are not let in (RFC 6750, section 3). Only of an expired key the client hears why: it had been good once,
// so that tells nobody anything new. Nobody writes to them.
const challenge = `Bearer realm="goblin-actor"`

var (
	refusedNobody = refuse(http.StatusUnauthorized, challenge, protocol.Unauthenticated,
		"This gateway asks who you are: send an API key as Authorization: Bearer gba_…")
	refusedInvalid = refuse(http.StatusUnauthorized, downstream.InvalidToken, protocol.Unauthenticated,
		"The API key is not valid")
	refusedExpired = refuse(http.StatusUnauthorized, downstream.InvalidToken+`, error_description="expired"`, protocol.Unauthenticated,
		"The API key has expired")
	refusedMalformed = refuse(http.StatusBadRequest, challenge+`, error="invalid_request"`, protocol.InvalidRequest,
		"Malformed credential: want one header Authorization: Bearer gba_…, and no access_token in the query")
	refusedForwarded = refuse(http.StatusBadRequest, "", protocol.InvalidRequest,
		"The headers that say for whom a proxy asks contradict each other, stand there twice, or hold no address")
	refusedTunnel = refuse(http.StatusForbidden, "", protocol.InvalidRequest,
		"A proxy or tunnel stands before this gateway, which asks nobody who they are: anybody could use it. Write into its configuration:\n"+
			"auth: {keys: keys.yaml}\ntrustedProxies: [127.0.0.1]\nand make a key: goblin-actor key new NAME")
)

func refuse(status int, challenge string, name protocol.FaultName, message string) *downstream.Refusal {
	return &downstream.Refusal{Status: status, Challenge: challenge, Fault: &protocol.Fault{Name: name, Message: message}}
}

// refusedOften is the answer to who fails, or asks, too often.
func refusedOften(message string, after time.Duration) *downstream.Refusal {
	return &downstream.Refusal{Status: http.StatusTooManyRequests, Fault: &protocol.Fault{
		Name: protocol.RateLimited, Message: message, Retryable: true, RetryAfter: max(after, time.Second)}}
}

// refusedFull is the answer to who has too much under way. Its status is 503, as where too much is buffered: the body was not read, so
// there is no request that an answer with status 200 could be to.
var refusedFull = &downstream.Refusal{Status: http.StatusServiceUnavailable, Fault: &protocol.Fault{
	Name: protocol.Overloaded, Message: "Too many requests in flight for this principal", Retryable: true, RetryAfter: time.Second}}

// shownPath is how many bytes of a path people are shown.
const shownPath = 200
