package claim

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Limits of a record.
const (
	MaxRecord  = 68 << 10 // bytes of an encoded record: a value of 64 KiB and the other fields
	maxTag     = 64       // bytes of a tag
	maxFailure = 512      // bytes of Failure
	maxLogins  = 8        // tags in Logins
)

// Errors of Encode and Decode.
var (
	errTooLarge = fmt.Errorf("a shared login has more than %d bytes", MaxRecord)
	errInvalid  = errors.New("a record of a shared login is invalid")
)

// Record is the content of the shared record. A tag is a text that differs in all writes of all nodes.
type Record struct {
	Value   json.RawMessage `json:"value,omitempty"`   // nil = there is none; its size is limited by MaxRecord
	Version string          `json:"version"`           // tag of the write that has set or removed Value
	Claim   string          `json:"claim,omitempty"`   // tag of the claim; "" = the value is not being renewed
	Contest string          `json:"contest,omitempty"` // tag of the contest of the claim; "" = it is not contested
	Failure string          `json:"failure,omitempty"` // why the last claimant could not renew the value
	Ended   int64           `json:"ended,omitempty"`   // when Value was removed, in seconds since 1970; 0 = it was not
	Logins  []string        `json:"logins,omitempty"`  // tags of the last writes by Replace, the newest last: a node whose answer was lost finds its own
}

// Encode returns the record as bytes. It fails if they are more than MaxRecord.
func (r *Record) Encode() ([]byte, error) {
	c := *r
	if len(c.Failure) > maxFailure {
		c.Failure = c.Failure[:maxFailure]
	}
	b, err := json.Marshal(&c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode a shared login: %w", err)
	case len(b) > MaxRecord:
		return nil, errTooLarge
	}
	return b, nil
}

// Decode decodes a record.
func Decode(b []byte) (Record, error) {
	var r Record
	if len(b) > MaxRecord {
		return Record{}, errTooLarge
	}
	if json.Unmarshal(b, &r) != nil || r.Version == "" || max(len(r.Version), len(r.Claim), len(r.Contest)) > maxTag || r.Ended < 0 {
		return Record{}, errInvalid
	}
	if string(r.Value) == "null" {
		r.Value = nil
	}
	if r.Ended > 0 && r.Value != nil || len(r.Failure) > 4*maxFailure || len(r.Logins) > maxLogins {
		return Record{}, errInvalid
	}
	return r, nil
}
