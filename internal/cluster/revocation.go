package cluster

import (
	"slices"
	"strings"
)

// MaxRevocations is the maximum number of revocations in one message.
const MaxRevocations = 50

// maxAge is the age of the oldest revocation that a node accepts, in seconds.
const maxAge = 10 * 24 * 60 * 60

// Revocation says that the key of a holder is revoked, or that a key file has it again. Of two revocations of a holder the
// one with the greater number counts. If the numbers are equal, the key is revoked. Clocks are not compared: a revocation
// says how old it is, not when it was made.
//
//	{"holder":"key:ci@0123456789abcdef","n":1,"age":12}
type Revocation struct {
	Holder   string `json:"holder"` // identity.HolderOf the principal
	Number   uint64 `json:"n"`      // from 1
	Restored bool   `json:"restored,omitempty"`
	Age      int64  `json:"age"` // seconds since it was made
}

// Overrides reports whether r takes precedence over other, which must be of the same holder.
func (r *Revocation) Overrides(other *Revocation) bool {
	if r.Number != other.Number {
		return r.Number > other.Number
	}
	return !r.Restored && other.Restored
}

// Revocations is a message with revocations, and a page of an Answer.
type Revocations struct {
	Cluster string       `json:"cluster"`
	From    string       `json:"from"` // incarnation of the sender
	List    []Revocation `json:"revocations"`
}

// Encode returns the message. Revocations beyond MaxRevocations are left out.
func (r *Revocations) Encode() []byte {
	c := *r
	c.List = shorten(r.List, MaxRevocations)
	return encode(&c)
}

// ParseRevocations decodes a message with revocations.
func ParseRevocations(message []byte) (*Revocations, error) {
	r := &Revocations{}
	if err := decodeMessage(message, r); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(r.Cluster):
		return nil, errField("revocation", "cluster")
	case !ValidIncarnation(r.From):
		return nil, errField("revocation", "from")
	case len(r.List) > MaxRevocations || !all(r.List, (*Revocation).valid):
		return nil, errField("revocation", "revocations")
	}
	return r, nil
}

func (r *Revocation) valid() bool {
	return r.Holder != "" && printable(r.Holder, MaxHolder) && r.Number > 0 && 0 <= r.Age && r.Age <= maxAge
}

// Page returns the revocations of a list that follow a holder, in the order of their holders, and whether there are more
// than fit in a message. The list must be sorted by holder.
func Page(list []Revocation, after string) (page []Revocation, more bool) {
	from, found := slices.BinarySearchFunc(list, after, func(r Revocation, holder string) int { return strings.Compare(r.Holder, holder) })
	if found {
		from++
	}
	rest := list[from:]
	return shorten(rest, MaxRevocations), len(rest) > MaxRevocations
}
