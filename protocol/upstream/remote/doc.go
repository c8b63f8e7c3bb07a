// Package remote is the links to servers behind a URL. [OpenHTTP] speaks streamable HTTP, [OpenSSE] HTTP+SSE of 2024-11-05,
// and [OpenAuto] finds out which of the two the server speaks.
//
// A frame is one POST, a roundTripper carries it: plain HTTP over connections of our own, TLS over net/http. Nothing is sent
// again once a byte of it may have been read.
package remote
