package cluster

import "time"

// Times of the beats. A node whose beats are missing for SilentAfter is given up.
const (
	BeatEvery   = 200 * time.Millisecond
	SilentAfter = 900 * time.Millisecond
)

// Limits of a beat. Together they keep a beat below MaxMessage.
const (
	// MaxFormer is the maximum number of former incarnations that a node remembers and reports.
	MaxFormer = 8

	// MaxSpent is the maximum number of entries in Beat.Spent.
	MaxSpent = 192

	// SpentRounds is the number of rounds that Spending.Requests covers. A node that misses all of their beats gives the
	// sender up anyway.
	SpentRounds = 5

	maxGenerations = 8
	maxRuns        = 64
	maxRunName     = 64 // bytes
	maxSpender     = 80 // bytes of a principal's id
	maxRate        = 16 // bytes
	maxSpent       = 1_000_000
)

// Head is the part of a beat that every version of the gateway understands. It never changes its form.
type Head struct {
	Cluster     string   `json:"cluster"` // name of the cluster; nodes ignore the beats of other clusters
	Node        string   `json:"node"`    // name of the node
	Incarnation string   `json:"incarnation"`
	Speaks      Versions `json:"speaks"`
	Version     string   `json:"version,omitempty"` // of the program, for display
}

// Beat is what a node tells the others about itself. It sends one every BeatEvery, and after changes.
//
//	{"cluster":"prod","node":"a","incarnation":"abcdefg2","speaks":[1,1],"version":"1.4.0","address":"10.0.0.1:8731",
//	 "seq":17,"round":16,"since":1767225600000,"time":1767225603400,"config":"6f1c…","keys":"03aa…","revoked":"0000000000000000",
//	 "generations":[3,1,1,0]}
type Beat struct {
	Head
	Former  []string `json:"former,omitempty"` // former incarnations of the process, newest first
	Address string   `json:"address"`          // where the node accepts requests of other nodes, as host:port
	Seq     uint64   `json:"seq"`              // number of the beat; a later beat of an incarnation has a greater one
	Round   uint64   `json:"round"`            // number of regular beats so far; a beat in between, after a change, belongs to the round before it
	Since   int64    `json:"since"`            // start of the incarnation, in Unix milliseconds of the node's clock
	Time    int64    `json:"time"`             // when the beat was sent, in Unix milliseconds of the node's clock

	Joining  bool `json:"joining,omitempty"`  // the node is not ready yet
	Draining bool `json:"draining,omitempty"` // the node stops soon and is not chosen as the home of sessions
	Leaving  bool `json:"leaving,omitempty"`  // this is the incarnation's last beat

	Config  string `json:"config,omitempty"`  // digest of what must be equal in the configurations of all nodes
	Keys    string `json:"keys,omitempty"`    // digest of the key file
	Revoked string `json:"revoked,omitempty"` // digest of the known revocations

	Generations []uint64   `json:"generations,omitempty"` // of the catalog of the node's own servers, by kind of item
	Runs        []string   `json:"runs,omitempty"`        // servers that run on this node and not on every node
	Spent       []Spending `json:"spent,omitempty"`
}

// Spending is what a principal has spent of its request rate at one node.
type Spending struct {
	Principal string `json:"who"`  // id of the principal
	Rate      string `json:"rate"` // such as 60/min
	Requests  []int  `json:"n"`    // requests admitted in the round of this beat, in the round before it and so on; at most SpentRounds
}

// Encode returns the beat as a message. Lists beyond their limits are truncated.
func (b *Beat) Encode() []byte {
	c := *b
	c.Former, c.Generations, c.Runs, c.Spent = shorten(b.Former, MaxFormer), shorten(b.Generations, maxGenerations), shorten(b.Runs, maxRuns), shorten(b.Spent, MaxSpent)
	return encode(&c)
}

// ParseBeat decodes a beat. If the error is ErrVersion, Head is valid and the rest of the beat is empty.
func ParseBeat(message []byte) (*Beat, error) {
	b := &Beat{}
	err := decodeMessage(message, b)
	if err != nil { // perhaps only the head has the form that this version knows
		*b = Beat{}
		if decodeMessage(message, &b.Head) != nil {
			return nil, err
		}
	}
	if head := b.Head.check(); head != nil {
		return nil, head
	}
	switch {
	case !b.Speaks.Common(Spoken):
		return &Beat{Head: b.Head}, ErrVersion
	case err != nil:
		return nil, err
	}
	return b, b.check()
}

func (h *Head) check() error {
	switch {
	case !ValidName(h.Cluster):
		return errField("beat", "cluster")
	case !ValidName(h.Node):
		return errField("beat", "node")
	case !ValidIncarnation(h.Incarnation):
		return errField("beat", "incarnation")
	case !h.Speaks.valid():
		return errField("beat", "speaks")
	case !printable(h.Version, maxText):
		return errField("beat", "version")
	}
	return nil
}

func (b *Beat) check() error {
	switch {
	case b.Address == "" || !printable(b.Address, maxAddress):
		return errField("beat", "address")
	case !printable(b.Config, maxText):
		return errField("beat", "config")
	case !printable(b.Keys, maxText):
		return errField("beat", "keys")
	case !printable(b.Revoked, maxText):
		return errField("beat", "revoked")
	case len(b.Generations) > maxGenerations:
		return errField("beat", "generations")
	case len(b.Former) > MaxFormer || !all(b.Former, func(s *string) bool { return ValidIncarnation(*s) && *s != b.Incarnation }):
		return errField("beat", "former")
	case len(b.Runs) > maxRuns || !all(b.Runs, func(s *string) bool { return *s != "" && printable(*s, maxRunName) }):
		return errField("beat", "runs")
	case len(b.Spent) > MaxSpent || !all(b.Spent, (*Spending).valid):
		return errField("beat", "spent")
	}
	return nil
}

func (s *Spending) valid() bool {
	return s.Principal != "" && printable(s.Principal, maxSpender) && printable(s.Rate, maxRate) && len(s.Requests) <= SpentRounds &&
		all(s.Requests, func(n *int) bool { return 0 <= *n && *n <= maxSpent })
}

// all reports whether every element of a list is valid.
func all[T any](list []T, valid func(*T) bool) bool {
	for i := range list {
		if !valid(&list[i]) {
			return false
		}
	}
	return true
}
