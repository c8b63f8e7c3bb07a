// Package remote provides links to servers at a URL. [OpenHTTP] uses Streamable HTTP, [OpenSSE] HTTP+SSE of 2024-11-05,
// and [OpenAuto] detects which of the two the server supports.
//
// Each frame is one POST, sent by a roundTripper: plain HTTP over the package's own connections, TLS over net/http. A request is not
// repeated once the server may have read a byte of it.
package remote
