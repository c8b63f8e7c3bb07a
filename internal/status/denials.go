package status

import (
	"context"
	"time"
)

// Denial describes requests that were refused for the same reason. Equal ones are merged.
type Denial struct {
	Number uint64    `json:"number"`         // increasing, in the order of First
	First  time.Time `json:"first"`          // the first of the requests
	Last   time.Time `json:"last"`           // the last of the requests
	Who    string    `json:"who"`            // name of the principal; "?" = unknown
	From   string    `json:"from,omitempty"` // address of the client; OtherAddresses = several; empty = unknown
	What   string    `json:"what"`           // path, or method and item
	Why    string    `json:"why"`
	Rule   string    `json:"rule,omitempty"` // what would permit the request
	Times  uint64    `json:"times"`
}

// Values of fields of Denial that stand for more than one value, or for none.
const (
	Unknown        = "?"               // Denial.Who: no known principal
	OtherAddresses = "other addresses" // Denial.From: of many clients
	OtherItems     = "other requests"  // Denial.What: of one principal
)

// Denials returns the stored denials, the newest first.
func (l Local) Denials(context.Context) ([]Denial, error) {
	return []Denial{}, nil
}
