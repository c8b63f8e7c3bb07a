package status

import (
	"context"
	"time"
)

// Limits of kept payloads. Together they bound the memory: MaxKeepings × MaxPayloads × 2 × MaxPayloadBytes = 12.5 MiB.
const (
	MaxKeepings     = 8                // servers whose payloads are kept at the same time
	MaxPayloads     = 50               // calls of a server
	MaxPayloadBytes = 16 << 10         // of a request, and of an answer
	PayloadTime     = 10 * time.Minute // after this time, all payloads of a server are discarded
)

// Keeping says that the gateway keeps the payloads of a server's next calls. Their payloads exist until it ends.
type Keeping struct {
	Server string    `json:"server"`
	Began  time.Time `json:"began"`
	Until  time.Time `json:"until"` // when it ends and its payloads are discarded
	Calls  int       `json:"calls"` // calls so far
	Most   int       `json:"most"`  // later calls are not kept
}

// KeptPayloads are the payloads of a server's calls.
type KeptPayloads struct {
	Keeping
	Payloads []CallPayload `json:"payloads"` // in the order in which the calls began
}

// CallPayload is what a client sent and a server answered in a call, without secrets.
type CallPayload struct {
	Call     string    `json:"call"` // Call.ID
	Method   string    `json:"method"`
	Item     string    `json:"item,omitempty"` // name or URI as the server defines it
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`     // zero = the call is in flight
	Request  Payload   `json:"request"`            // its parameters
	Answer   Payload   `json:"answer"`             // the result or the error; empty until the call ends, and if the client has canceled it
	Withheld string    `json:"withheld,omitempty"` // why only the shape of a payload is shown; empty = nothing is withheld
}

// Payload is one side of a call. Secrets in it are replaced by "[redacted]".
type Payload struct {
	Bytes int    `json:"bytes"`           // before anything was cut or replaced
	Shape string `json:"shape,omitempty"` // such as {path: string 18 B, head: number}; it names at most 12 members of each object
	Text  string `json:"text,omitempty"`  // JSON, on one line; empty unless a single call was queried
	Cut   bool   `json:"cut,omitempty"`   // the end is missing
}

// PayloadQuery selects kept payloads. The zero value selects all, without their texts.
type PayloadQuery struct {
	Call string // Call.ID; with it, the payloads have their texts
}

// Payloads returns the kept payloads.
func (l Local) Payloads(ctx context.Context, q PayloadQuery) ([]KeptPayloads, error) {
	list, err := l.Gateway.Payloads(ctx, q)
	return without(list, l.Known), err
}
