// Package remote provides links to servers at a URL. [OpenHTTP] uses Streamable HTTP, [OpenSSE] HTTP+SSE of 2024-11-05,
// and [OpenAuto] detects which of the two the server supports.
//
// Each frame is one POST, sent by a roundTripper: plain HTTP over the package's own connections, TLS over net/http. A
// request is repeated only if the server has certainly not executed it: the server has read no byte of it, has
// redirected it, has refused its credentials, or states over HTTP/2 that it did not process the request. OpenAuto also
// repeats an initialize that the server has refused.
package remote
