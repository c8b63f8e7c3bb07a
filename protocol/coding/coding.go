package coding

import (
	"errors"
	"fmt"
	"strings"
)

// Accept is the Accept-Encoding header of requests whose responses a Reader decodes. gzip is the coding that all servers have, and
// its window of 32 KiB is the only memory that a response can claim.
const Accept = "gzip"

const shownBytes = 60 // of a Content-Encoding in an error

// ErrUnsupported says that a response has a content coding that Reader does not decode.
var ErrUnsupported = errors.New("the encoding of the response is not supported")

// Coding is a content coding.
type Coding uint8

// What Parse returns.
const (
	Identity Coding = iota // not encoded
	Gzip
	Deflate // in a zlib wrapper as RFC 9110 wants it, or without as some servers send it
)

func (c Coding) String() string { return [...]string{"identity", "gzip", "deflate"}[c] }

// Parse returns the coding that Content-Encoding headers name. A coding that is unknown, or encoded once more by another, is an
// error that wraps ErrUnsupported: no server needs two, and each one multiplies what a small response can expand to.
func Parse(headers ...string) (Coding, error) {
	coding, found := Identity, 0
	for _, header := range headers {
		for name := range strings.SplitSeq(header, ",") {
			one, known := parse(strings.Trim(name, " \t"))
			if !known {
				return Identity, unsupported(headers, "set the server, or the proxy in front of it, to respect Accept-Encoding")
			}
			if one != Identity {
				coding = one
				found++
			}
		}
	}
	if found > 1 {
		return Identity, unsupported(headers, "only one encoding is decoded")
	}
	return coding, nil
}

// parse returns the coding of one name. "none" and names of character sets are in use for responses that are not encoded.
func parse(name string) (coding Coding, known bool) {
	switch strings.ToLower(name) {
	case "", "identity", "none", "utf-8", "utf8":
		return Identity, true
	case "gzip", "x-gzip":
		return Gzip, true
	case "deflate":
		return Deflate, true
	}
	return Identity, false
}

func unsupported(headers []string, todo string) error {
	text := strings.Join(headers, ", ")
	return fmt.Errorf("%w: Content-Encoding %q; %s", ErrUnsupported, text[:min(len(text), shownBytes)], todo)
}
