package downstream

import "bytes"

// maxHeaderLines is the maximum number of header lines in a request. A request with more gets 431.
const maxHeaderLines = 128

// knownHeader holds the headers that the transport uses. Its slices point into fasthttp's header block, which is reused
// after the request: they must not leave the connection's goroutine.
type knownHeader struct {
	host, origin, contentType, contentLength, contentEncoding []byte
	session, version, project, lastEvent, authorization       []byte
	method                                                    []byte // Mcp-Method
	traceparent, tracestate                                   []byte // W3C trace context; of repeated headers, the first is used
	corsMethod, corsHeaders                                   []byte // Access-Control-Request-*
	authorizations                                            int    // number of Authorization headers; a request with more than one is refused
	proxied                                                   bool   // has Forwarded, X-Forwarded-*, X-Real-IP or Via
	chunked                                                   bool
	privateNetwork                                            bool // Access-Control-Request-Private-Network
	accept                                                    acceptSet
}

// scan parses a raw header block into h. It refuses more than maxHeaderLines lines, and headers that two HTTP parsers
// could interpret differently (RFC 9112, sections 2.2, 5.1, 5.2, 6.3): bare CR or LF, folded lines, invalid names, a
// Transfer-Encoding other than chunked or together with Content-Length, and repeated headers: those that start with
// Mcp-, and those for which single returns a field. fasthttp tolerates several of these. scan returns refusedNothing
// if the block is valid. An empty block is valid (HTTP/1.0).
func (h *knownHeader) scan(raw []byte) refused {
	*h = knownHeader{}
	block, lines := raw, 0
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, '\n')
		if end < 1 || raw[end-1] != '\r' {
			return refusedMalformed
		}
		line := raw[:end-1]
		raw = raw[end+1:]
		if len(line) == 0 {
			if len(raw) != 0 {
				return refusedMalformed
			}
			break
		}
		if lines++; lines > maxHeaderLines {
			return refusedHeaderSize
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 1 || !isHeaderName(line[:colon]) || bytes.IndexByte(line, '\r') >= 0 {
			return refusedMalformed
		}
		name := line[:colon]
		if hasFold(name, "mcp-") && !equalFold(name, "mcp-session-id") && namedBefore(block[:len(block)-len(raw)-len(line)-2], name) {
			return refusedRepeated
		}
		if !h.take(name, trimSpace(line[colon+1:])) {
			return refusedMalformed
		}
	}
	if h.chunked && h.contentLength != nil {
		return refusedMalformed
	}
	return refusedNothing
}

// take records one header. It returns false if the header must not be repeated but occurs a second time, or if it is a
// Transfer-Encoding other than chunked.
func (h *knownHeader) take(name, value []byte) bool {
	if once := h.single(name); once != nil {
		if *once != nil {
			return false
		}
		*once = value
		return true
	}
	switch len(name) {
	case 3:
		h.proxied = h.proxied || equalFold(name, "via")
	case 6:
		if equalFold(name, "accept") {
			h.accept.add(value)
		}
	case 9:
		h.proxied = h.proxied || equalFold(name, "forwarded") || equalFold(name, "x-real-ip")
	case 10:
		if equalFold(name, "mcp-method") {
			h.method = value // scan refuses a second one
		} else if h.tracestate == nil && equalFold(name, "tracestate") {
			h.tracestate = value
		}
	case 11:
		if h.traceparent == nil && equalFold(name, "traceparent") {
			h.traceparent = value
		}
	case 13:
		if equalFold(name, "authorization") { // admit refuses a second one, with the challenge of RFC 6750
			if h.authorizations++; h.authorizations == 1 {
				h.authorization = value
			}
		}
	case 17:
		if equalFold(name, "transfer-encoding") {
			if h.chunked || !equalFold(value, "chunked") {
				return false
			}
			h.chunked = true
		}
	default:
		if hasFold(name, "access-control-request-") {
			h.takePreflight(name, value)
		}
	}
	h.proxied = h.proxied || hasFold(name, "x-forwarded-")
	return true
}

// single returns the field for a header of which take refuses a second one, or nil for any other header.
func (h *knownHeader) single(name []byte) *[]byte {
	switch len(name) {
	case 4:
		if equalFold(name, "host") {
			return &h.host
		}
	case 6:
		if equalFold(name, "origin") {
			return &h.origin
		}
	case 12:
		if equalFold(name, "content-type") {
			return &h.contentType
		}
	case 13:
		if equalFold(name, "last-event-id") {
			return &h.lastEvent
		}
	case 14:
		if equalFold(name, "content-length") {
			return &h.contentLength
		} else if equalFold(name, "mcp-session-id") {
			return &h.session
		} else if equalFold(name, "goblin-project") {
			return &h.project
		}
	case 16:
		if equalFold(name, "content-encoding") {
			return &h.contentEncoding
		}
	case 20:
		if equalFold(name, "mcp-protocol-version") {
			return &h.version
		}
	}
	return nil
}

func (h *knownHeader) takePreflight(name, value []byte) {
	switch {
	case equalFold(name, "access-control-request-method"):
		h.corsMethod = value
	case equalFold(name, "access-control-request-headers"):
		h.corsHeaders = value
	case equalFold(name, "access-control-request-private-network"):
		h.privateNetwork = equalFold(value, "true")
	}
}

// namedBefore reports whether a line of block has the given name. It searches linearly; there are few such lines.
func namedBefore(block, name []byte) bool {
	for len(block) > 0 {
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			return false
		}
		if line := block[:end]; len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], name) {
			return true
		}
		block = block[end+1:]
	}
	return false
}

// headerNameByte marks the bytes of a header name: tchar of RFC 9110, section 5.6.2.
var headerNameByte = func() (t [256]bool) {
	for c := range 256 {
		b := byte(c)
		t[c] = 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), b) >= 0
	}
	return t
}()

func isHeaderName(name []byte) bool {
	for _, b := range name {
		if !headerNameByte[b] {
			return false
		}
	}
	return true
}

// equalFold reports whether b equals a lower-case ASCII string, ignoring case.
func equalFold(b []byte, lower string) bool { return len(b) == len(lower) && hasFold(b, lower) }

// hasFold reports whether b begins with a lower-case ASCII string, ignoring case.
func hasFold(b []byte, lower string) bool {
	if len(b) < len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// trimSpace removes leading and trailing optional white space (RFC 9110, section 5.6.3). The result is not nil if b is
// not, so that an empty value differs from an absent one.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
