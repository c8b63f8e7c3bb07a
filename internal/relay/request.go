package relay

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// errNotText is returned for a header that cannot be passed on. No request over HTTP has one.
var errNotText = errors.New("a header has a line break")

// oneWrite is the size of a body up to which it is written together with the header.
const oneWrite = 16 << 10

// request is the text of a request to another node: first, then rest.
type request struct{ first, rest []byte }

// reserved are the headers that newRequest sets itself or must not pass on. The client's headers of these names are not
// copied.
var reserved = map[string]bool{
	"Host": true, "Connection": true, "Content-Length": true, "Content-Type": true, "Content-Encoding": true, "Transfer-Encoding": true, "Expect": true, "Te": true,
	"Trailer": true, "Upgrade": true, "Accept": true, "Origin": true, "Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Last-Event-Id": true, "Goblin-Project": true,
	headerHolder: true, headerClient: true, "Traceparent": true, "Tracestate": true,
}

// newRequest returns the request of a client for another node. x is nil if the client opens a stream.
func newRequest(verb, node string, o *downstream.Origin, x *downstream.Exchange) (request, error) {
	var body []byte
	if x != nil {
		if body = x.Frame.Raw; x.Batch != nil {
			body = x.Batch
		}
	}
	h := header{b: make([]byte, 0, 1024+min(len(body), oneWrite))}
	target := o.Path
	messages := downstream.RouteMessages.Ends(o.Path)
	if messages {
		target += "?sessionId=" + url.QueryEscape(o.SessionID)
	}
	protocolVersion := " HTTP/1.1"
	if o.JSONOnly && o.EventsOnly { // the client's connection has no chunks, so events must be a whole response
		protocolVersion = " HTTP/1.0"
	}
	h.line(verb + " " + target + protocolVersion)
	h.add("Host", node)
	h.add(headerHolder, identity.HolderOf(o.Principal))
	if client, err := netip.ParseAddrPort(o.Remote); err == nil {
		h.add(headerClient, client.Addr().String())
	}
	if verb == http.MethodPost {
		h.add("Content-Type", "application/json")
		h.add("Content-Length", strconv.Itoa(len(body)))
	}
	h.add("Accept", acceptOf(verb, o))
	if !messages {
		h.optional("Mcp-Session-Id", o.SessionID)
	}
	h.optional(protocol.HeaderVersion, o.Version)
	h.optional("Last-Event-ID", o.LastEvent)
	if o.Project != "" || o.EmptyProject {
		h.add("Goblin-Project", o.Project)
	}
	if x != nil {
		h.optional("Traceparent", x.Report.Traceparent)
		h.optional("Tracestate", x.Report.Tracestate)
	}
	h.all(o.Header, nil)
	h.all(o.Forwarded, func(name string) bool {
		return o.Header[name] != nil || name == "Authorization" && identity.Of(o.Principal).Via == identity.ViaKey // that is the API key
	})
	if h.bad {
		return request{}, errNotText
	}
	first := append(h.b, "\r\n"...)
	if len(body) <= oneWrite {
		return request{first: append(first, body...)}, nil
	}
	return request{first, body}, nil
}

// acceptOf returns which responses the client accepts, as far as it matters to the other node.
func acceptOf(verb string, o *downstream.Origin) string {
	const json, events = "application/json", "text/event-stream"
	switch {
	case verb == http.MethodGet, o.EventsOnly:
		return events
	case o.JSONOnly:
		return json
	}
	return json + ", " + events
}

// header is the header of a request as text.
type header struct {
	b   []byte
	bad bool // something in it has a line break
}

func (h *header) line(text string) {
	h.bad = h.bad || strings.ContainsAny(text, "\r\n\x00")
	h.b = append(append(h.b, text...), "\r\n"...)
}

func (h *header) add(name, value string) { h.line(name + ": " + value) }

// optional adds a header unless it is empty.
func (h *header) optional(name, value string) {
	if value != "" {
		h.add(name, value)
	}
}

// all adds headers of the client, except those that are reserved or for which skip returns true.
func (h *header) all(of http.Header, skip func(name string) bool) {
	for name, values := range of {
		if reserved[name] || strings.HasPrefix(name, "Goblin-Node-") || skip != nil && skip(name) {
			continue
		}
		for _, value := range values {
			h.add(name, value)
		}
	}
}
