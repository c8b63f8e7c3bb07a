package coding

import (
	"errors"
	"fmt"
	"strings"
)

// Accept is the Accept-Encoding header for requests whose responses a Reader decodes. gzip is the most widely supported
// coding, and its window of 32 KiB limits the memory for a response.
const Accept = "gzip"

const shownBytes = 60 // maximum bytes of a Content-Encoding in an error

// ErrUnsupported means that a response has a content coding that Reader does not support.
var ErrUnsupported = errors.New("the encoding of the response is not supported")

// Coding is a content coding.
type Coding uint8

// The supported codings.
const (
	Identity Coding = iota // not encoded
	Gzip
	Deflate // with the zlib wrapper of RFC 9110, or without, as some servers send it
)

// String returns the name of the coding as in Content-Encoding.
func (c Coding) String() string { return [...]string{"identity", "gzip", "deflate"}[c] }

// Parse returns the coding in the Content-Encoding headers. For an unknown coding or several codings it returns an error that
// wraps ErrUnsupported: no server needs two, and each multiplies the possible expansion of a small response.
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
		return Identity, unsupported(headers, "set the server, or the proxy in front of it, to use only one encoding")
	}
	return coding, nil
}

// parse returns the coding with the given name. Some servers send "none" or "utf-8" for unencoded responses.
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
