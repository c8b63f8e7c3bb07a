// Package subscription is the actor for one stream on which a client without a session is notified of changes. It lives as long as
// the stream. MCP 2026-07-28, basic/patterns/subscriptions.
//
// Invariants: the acknowledgment is the first message on the stream, and the result the last one, unless the stream is refused, or
// the client has left or canceled it; the client is notified at least once of every change that matches the acknowledged filter.
package subscription
