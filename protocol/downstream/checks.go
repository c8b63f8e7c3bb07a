package downstream

import "bytes"

// maxHeaderLines is how many header lines a request may have; more is 431.
const maxHeaderLines = 128

// knownHeader is what a request's raw header block said. Its slices share the block's memory, which fasthttp reuses
// after the handler: nothing of them may leave the connection's goroutine.
type knownHeader struct {
	host, origin, contentType, contentLength, contentEncoding []byte
	session, version, project, lastEvent, authorization       []byte
	method                                                    []byte // Mcp-Method
	askedMethod, askedHeaders                                 []byte // Access-Control-Request-*
	authorizations                                            int    // lines of Authorization; the first one counts
	proxied                                                   bool   // Forwarded, X-Forwarded-*, X-Real-IP or Via
	chunked                                                   bool
	privateNetwork                                            bool // Access-Control-Request-Private-Network
	accept                                                    acceptSet
}

// scan reads the raw block once and refuses what two HTTP parsers could read in two ways (RFC 9112 sections 2.2, 5.1,
// 5.2, 6.3): bare CR or LF, folded lines, blanks in names, Content-Length beside Transfer-Encoding, a header that
// decides something given twice. fasthttp tolerates several of these. It returns what is wrong, refusedNothing if nothing is.
//
// An empty block is possible (HTTP/1.0).
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
		if !h.Take(name, trimBlanks(line[colon+1:])) {
			return refusedMalformed
		}
	}
	if h.chunked && h.contentLength != nil {
		return refusedMalformed
	}
	return refusedNothing
}

// Take notes one header; false when it decides something and contradicts or repeats what was there before.
func (h *knownHeader) Take(name, value []byte) bool {
	var once *[]byte
	switch len(name) {
	case 3:
		h.proxied = h.proxied || equalFold(name, "via")
	case 4:
		if equalFold(name, "host") {
			once = &h.host
		}
	case 6:
		if equalFold(name, "accept") {
			h.accept.Add(value)
		} else if equalFold(name, "origin") {
			once = &h.origin
		}
	case 9:
		h.proxied = h.proxied || equalFold(name, "forwarded") || equalFold(name, "x-real-ip")
	case 10:
		if equalFold(name, "mcp-method") {
			h.method = value // scan has seen that there is no other one
		}
	case 12:
		if equalFold(name, "content-type") {
			once = &h.contentType
		}
	case 13:
		if equalFold(name, "authorization") { // two of them are for admit to refuse, in the words of RFC 6750
			if h.authorizations++; h.authorizations == 1 {
				h.authorization = value
			}
		} else if equalFold(name, "last-event-id") {
			once = &h.lastEvent
		}
	case 14:
		if equalFold(name, "content-length") {
			once = &h.contentLength
		} else if equalFold(name, "mcp-session-id") {
			once = &h.session
		} else if equalFold(name, "goblin-project") {
			once = &h.project
		}
	case 16:
		if equalFold(name, "content-encoding") {
			once = &h.contentEncoding
		}
	case 17:
		if equalFold(name, "transfer-encoding") {
			if h.chunked || !equalFold(value, "chunked") {
				return false
			}
			h.chunked = true
		}
	case 20:
		if equalFold(name, "mcp-protocol-version") {
			once = &h.version
		}
	default:
		if hasFold(name, "access-control-request-") {
			h.takePreflight(name, value)
		}
	}
	h.proxied = h.proxied || hasFold(name, "x-forwarded-")
	if once == nil {
		return true
	}
	if *once != nil {
		return false
	}
	*once = value
	return true
}

func (h *knownHeader) takePreflight(name, value []byte) {
	switch {
	case equalFold(name, "access-control-request-method"):
		h.askedMethod = value
	case equalFold(name, "access-control-request-headers"):
		h.askedHeaders = value
	case equalFold(name, "access-control-request-private-network"):
		h.privateNetwork = equalFold(value, "true")
	}
}

// namedBefore reports whether a line of block has that name. Quadratic over a block's lines, which are few.
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

// headerNameByte is tchar of RFC 9110 section 5.6.2.
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

// equalFold compares with a lower-case ASCII string, without regard to case.
func equalFold(b []byte, lower string) bool { return len(b) == len(lower) && hasFold(b, lower) }

// hasFold reports whether b begins with the lower-case ASCII string, without regard to case.
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

// trimBlanks cuts optional white space (RFC 9110 section 5.6.3) and keeps the result non-nil, so that an empty value differs from none.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
