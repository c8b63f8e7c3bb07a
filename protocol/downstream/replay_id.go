package downstream

import (
	"encoding/hex"
	"strings"

	"goblin-actor/protocol"
)

// maxEventRequest is the largest id of a request, in bytes, that the ids of its events contain.
const maxEventRequest = 64

// requestMark ends the id of the request in the id of an event.
const requestMark = "~"

// callPrefix returns what precedes the tag in the ids of a call's events.
func (r *Replay) callPrefix(request []byte) string {
	if r.o.Node == "" {
		return ""
	}
	if len(request) > maxEventRequest {
		request = nil
	}
	return r.o.Node + hex.EncodeToString(request) + requestMark
}

// RequestOfEvent returns the id, raw JSON, of the request to whose stream an event of another node belongs. node is the
// ReplayOptions.Node of that node. RequestOfEvent returns nil if the event's id does not name a request.
func RequestOfEvent(event, node string) []byte {
	rest, ok := strings.CutPrefix(event, node)
	digits, _, marked := strings.Cut(rest, requestMark)
	if !ok || !marked || len(digits) > 2*maxEventRequest {
		return nil
	}
	id, err := hex.DecodeString(digits)
	var f protocol.Frame
	if err != nil || f.Parse(protocol.AppendResult(nil, id, []byte("{}"))) != nil || string(f.IDBytes()) != string(id) { // a client may have made it up
		return nil
	}
	return id
}
