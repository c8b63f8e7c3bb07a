// Package coding decodes the content codings of HTTP responses: gzip and deflate. RFC 9110, section 8.4.
//
// A [Reader] decodes while it reads. It returns a byte as soon as the sender has flushed it, holds about 50 KiB whatever the
// response claims, and fails when a response expands far beyond what a message may have.
package coding
