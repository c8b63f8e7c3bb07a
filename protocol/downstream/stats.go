package downstream

import (
	"net/http"
	"sync/atomic"
)

// refused is the reason why the transport has refused a request.
type refused uint8

const (
	refusedNothing    refused = iota
	refusedMalformed          // ambiguous headers, an invalid request line, or a truncated body
	refusedRepeated           // an Mcp-* header is repeated, so that its value is ambiguous
	refusedForwarded          // a header to forward is repeated or invalid
	refusedHeaderSize         // there are too many headers, or they are too long
	refusedTimeout            // the header or the body arrived too slowly
	refusedHost               // the Host header does not name this server
	refusedOrigin             // the request comes from a page of another site
	refusedPath               // unknown path
	refusedVerb               // not GET, POST, DELETE or OPTIONS
	refusedAccept             // the client accepts neither JSON nor an event stream (GET: no event stream)
	refusedMedia              // the body is not application/json, or it has a Content-Encoding
	refusedSize               // the body is too large
	refusedBudget             // too many bytes are buffered
	refusedMessage            // the body is not a JSON-RPC message
	refusedStopping           // the server is shutting down
	refusedInternal           // a handler panicked
	refusedAdmission          // not authenticated, or over a rate limit
	refusedKinds
)

// refusals holds the HTTP status and the metric label of each reason.
var refusals = [refusedKinds]struct {
	status int
	label  string
}{
	refusedMalformed:  {http.StatusBadRequest, "malformed"},
	refusedRepeated:   {http.StatusBadRequest, "repeated"},
	refusedForwarded:  {http.StatusBadRequest, "forwarded"},
	refusedHeaderSize: {http.StatusRequestHeaderFieldsTooLarge, "header_size"},
	refusedTimeout:    {http.StatusRequestTimeout, "timeout"},
	refusedHost:       {http.StatusForbidden, "host"},
	refusedOrigin:     {http.StatusForbidden, "origin"},
	refusedPath:       {http.StatusNotFound, "path"},
	refusedVerb:       {http.StatusMethodNotAllowed, "verb"},
	refusedAccept:     {http.StatusNotAcceptable, "accept"},
	refusedMedia:      {http.StatusUnsupportedMediaType, "media"},
	refusedSize:       {http.StatusRequestEntityTooLarge, "size"},
	refusedBudget:     {http.StatusServiceUnavailable, "budget"},
	refusedMessage:    {http.StatusBadRequest, "message"},
	refusedStopping:   {http.StatusServiceUnavailable, "stopping"},
	refusedInternal:   {http.StatusInternalServerError, "internal"},
	refusedAdmission:  {http.StatusUnauthorized, "admission"},
}

// Stats holds the counters of a Server since its creation.
type Stats struct {
	Requests    uint64            // HTTP requests whose header was read
	Refused     map[string]uint64 // requests refused by the transport, by reason
	DroppedLogs uint64            // log and progress messages dropped for slow readers
	LostStreams uint64            // streams ended because their reader was too slow
	BytesIn     uint64            // read from client connections, including headers
	BytesOut    uint64            // written to client connections
}

// serverCounters are the counters of Stats.
type serverCounters struct {
	requests, droppedLogs, lostStreams, bytesIn, bytesOut atomic.Uint64
	refused                                               [refusedKinds]atomic.Uint64
}

// Stats returns the current counters.
func (s *Server) Stats() Stats {
	c := &s.counters
	stats := Stats{
		Requests:    c.requests.Load(),
		Refused:     make(map[string]uint64),
		DroppedLogs: c.droppedLogs.Load(),
		LostStreams: c.lostStreams.Load(),
		BytesIn:     c.bytesIn.Load(),
		BytesOut:    c.bytesOut.Load(),
	}
	for reason := refusedNothing + 1; reason < refusedKinds; reason++ {
		if n := c.refused[reason].Load(); n > 0 {
			stats.Refused[refusals[reason].label] = n
		}
	}
	return stats
}
