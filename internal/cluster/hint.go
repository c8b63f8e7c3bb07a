package cluster

import (
	"encoding/json"
	"errors"
)

// HintKind is the kind of a hint. A node ignores kinds that it does not know.
type HintKind string

// The kinds of hints.
const (
	HintDead   HintKind = "dead"   // a request to the node Incarnation failed; every node should check whether it still exists
	HintCancel HintKind = "cancel" // the client of Session has canceled Request
	HintEnded  HintKind = "ended"  // Session has ended
	HintLevel  HintKind = "level"  // the log level of Session is Level now
	HintRoots  HintKind = "roots"  // the roots of the client of Session have changed

	// HintMentioned says that Server has mentioned the resources URIs, which are in none of its lists.
	HintMentioned HintKind = "mentioned"
)

// Limits of a HintMentioned.
const (
	MaxMentioned     = 256     // URIs
	MaxMentionedSize = 8 << 10 // bytes of all URIs
)

// Hint tells the other nodes about an event early. It may get lost. Nodes also learn of these events in another way, but
// later, except for cancellations, changes of roots and mentions. The sender repeats a mention only if the server mentions the
// resource again more than a minute later.
//
//	{"cluster":"prod","from":"abcdefg2","kind":"cancel","session":"2…","request":7}
type Hint struct {
	Cluster     string          `json:"cluster"`
	From        string          `json:"from"` // incarnation of the sender
	Kind        HintKind        `json:"kind"`
	Incarnation string          `json:"incarnation,omitempty"`
	Session     string          `json:"session,omitempty"`
	Holder      string          `json:"holder,omitempty"`  // of the session's principal; "" = no principal
	Request     json.RawMessage `json:"request,omitempty"` // id of a request, a number or string
	Level       string          `json:"level,omitempty"`
	Server      string          `json:"server,omitempty"`
	URIs        []string        `json:"uris,omitempty"`    // as the server wrote them
	Deleted     bool            `json:"deleted,omitempty"` // of HintEnded: its client or an operator has ended the session
}

func sizeOf(list []string) (size int) {
	for _, s := range list {
		size += len(s)
	}
	return size
}

// MentionHints returns the hints that tell other nodes which resources a server has mentioned. It omits URIs that are longer than
// MaxMentionedSize.
func MentionHints(server string, uris []string) (hints []Hint) {
	h, size := Hint{Kind: HintMentioned, Server: server}, 0
	for _, uri := range uris {
		if len(uri) > MaxMentionedSize {
			continue
		}
		if len(h.URIs) == MaxMentioned || size+len(uri) > MaxMentionedSize {
			hints = append(hints, h)
			h.URIs, size = nil, 0
		}
		h.URIs, size = append(h.URIs, uri), size+len(uri)
	}
	if len(h.URIs) > 0 {
		hints = append(hints, h)
	}
	return hints
}

// errHint is returned by Hint.Encode.
var errHint = errors.New("a hint to other nodes has a field that is too long, or an invalid request id")

// Encode returns the hint as a message. It returns an error if the session id, the holder or the client's request id is too
// long, or if the request id is not valid JSON.
func (h *Hint) Encode() ([]byte, error) {
	if len(h.Request) > maxID || len(h.Session) > MaxSessionID || len(h.Holder) > MaxHolder || len(h.Request) > 0 && !json.Valid(h.Request) {
		return nil, errHint
	}
	return encode(h), nil
}

// ParseHint decodes a hint. Its kind may be unknown.
func ParseHint(message []byte) (*Hint, error) {
	h := &Hint{}
	if err := decodeMessage(message, h); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(h.Cluster):
		return nil, errField("hint", "cluster")
	case !ValidIncarnation(h.From):
		return nil, errField("hint", "from")
	case h.Kind == "" || !printable(string(h.Kind), maxText):
		return nil, errField("hint", "kind")
	case h.Incarnation != "" && !ValidIncarnation(h.Incarnation):
		return nil, errField("hint", "incarnation")
	case len(h.Session) > MaxSessionID:
		return nil, errField("hint", "session")
	case !printable(h.Holder, MaxHolder):
		return nil, errField("hint", "holder")
	case len(h.Request) > maxID:
		return nil, errField("hint", "request")
	case !printable(h.Level, maxText):
		return nil, errField("hint", "level")
	case h.Server != "" && !ValidName(h.Server):
		return nil, errField("hint", "server")
	case len(h.URIs) > MaxMentioned || sizeOf(h.URIs) > MaxMentionedSize:
		return nil, errField("hint", "uris")
	}
	return h, nil
}
