// Package coding decodes the content codings of HTTP responses: gzip and deflate. RFC 9110, section 8.4.
//
// A [Reader] decodes while it reads. It returns a byte as soon as the sender has flushed it, uses about 50 KiB for any
// response, and fails if a response expands far beyond the maximum message size.
package coding
