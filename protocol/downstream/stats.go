package downstream

import (
	"net/http"
	"sync/atomic"
)

// refused says why the transport itself turned a request down; the words are label values of metrics.
type refused uint8

const (
	refusedNothing    refused = iota
	refusedMalformed          // headers two parsers could read in two ways, a bad request line, a truncated body
	refusedRepeated           // a header that repeats what a message says, twice: nobody can tell which one counts
	refusedKept               // a header that servers are to get, twice or senseless
	refusedHeaderSize         // too many or too long headers
	refusedTimeout            // header or body came too slowly
	refusedHost               // Host is not one of ours
	refusedOrigin             // another site's page
	refusedPath               // no such route
	refusedVerb               // not GET, POST, DELETE, OPTIONS
	refusedAccept             // neither JSON nor an event stream would do
	refusedMedia              // the body is no application/json
	refusedSize               // the body is too large
	refusedBudget             // too many bytes are buffered already
	refusedMessage            // the body is no JSON-RPC message
	refusedStopping           // we are shutting down
	refusedInternal           // a handler panicked
	refusedAdmission          // nobody we know, or too often
	refusedKinds
)

// refusals is status and word of each reason.
var refusals = [refusedKinds]struct {
	status int
	word   string
}{
	refusedMalformed:  {http.StatusBadRequest, "malformed"},
	refusedRepeated:   {http.StatusBadRequest, "repeated"},
	refusedKept:       {http.StatusBadRequest, "forwarded"},
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

// Stats is what a Server has counted since it was made.
type Stats struct {
	Requests    uint64            // HTTP requests that reached the handler
	Refused     map[string]uint64 // requests the transport itself turned down, by reason
	DroppedLogs uint64            // log messages dropped because their reader was slow
	LostStreams uint64            // streams ended because their reader was too slow
	BytesIn     uint64            // read from client connections, headers included
	BytesOut    uint64            // written to client connections
}

// serverCounters are written by connection goroutines and read by Stats.
type serverCounters struct {
	requests, droppedLogs, lostStreams, bytesIn, bytesOut atomic.Uint64
	refused                                               [refusedKinds]atomic.Uint64
}

// Stats returns the counters. It is safe from any goroutine.
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
			stats.Refused[refusals[reason].word] = n
		}
	}
	return stats
}
