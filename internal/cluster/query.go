package cluster

// QueryKind is the kind of a query.
type QueryKind string

// The kinds of queries.
const (
	QueryPresence    QueryKind = "presence"    // whether the incarnation exists; any answer means that it does
	QueryRevocations QueryKind = "revocations" // a page of the revocations that the node knows
	QuerySession     QueryKind = "session"     // whether Session lives, and its log level; keeps it from being idle
	QueryEnded       QueryKind = "ended"       // a page of the ended sessions that the node knows
	QueryCatalogs    QueryKind = "catalogs"    // a part of the catalogs of servers that the node knows
)

// SessionLife is what a node knows about a session of which it is the home.
type SessionLife string

// The values of SessionLife.
const (
	SessionUnknown SessionLife = ""      // the node is not the home of the session, or cannot say now
	SessionLives   SessionLife = "lives" // the session is open
	SessionEnded   SessionLife = "ended" // the session has ended, belongs to another holder, or never existed
)

// Query is a question of one node to another.
type Query struct {
	Cluster string    `json:"cluster"`
	From    string    `json:"from"` // incarnation of the node that asks
	Kind    QueryKind `json:"kind"`
	After   string    `json:"after,omitempty"` // of QueryRevocations: the last holder of the previous page; otherwise Next of the previous page

	Session string `json:"session,omitempty"` // of QuerySession
	Holder  string `json:"holder,omitempty"`  // of QuerySession: of the session's principal; "" = no principal
}

// Answer answers a Query. Fields that a kind does not need are empty.
type Answer struct {
	Revocations
	Joining bool   `json:"joining,omitempty"` // the node is not ready, so it may not know all revocations
	More    bool   `json:"more,omitempty"`    // there is another page
	Digest  string `json:"digest,omitempty"`  // of all revocations that the node knows

	Session SessionLife `json:"session,omitempty"`
	Level   string      `json:"level,omitempty"` // of the session; "" = its client has set none

	Ended []EndedSession `json:"ended,omitempty"`
	Next  string         `json:"next,omitempty"` // where the next page begins; "" = there is none

	Catalog *CatalogPart `json:"catalog,omitempty"`
}

// Encode returns the query as a message.
func (q *Query) Encode() []byte { return encode(q) }

// ParseQuery decodes a query. Its kind may be unknown.
func ParseQuery(message []byte) (*Query, error) {
	q := &Query{}
	if err := decodeMessage(message, q); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(q.Cluster):
		return nil, errField("query", "cluster")
	case !ValidIncarnation(q.From):
		return nil, errField("query", "from")
	case q.Kind == "" || !printable(string(q.Kind), maxText):
		return nil, errField("query", "kind")
	case !printable(q.After, MaxHolder):
		return nil, errField("query", "after")
	case len(q.Session) > MaxSessionID:
		return nil, errField("query", "session")
	case !printable(q.Holder, MaxHolder):
		return nil, errField("query", "holder")
	}
	return q, nil
}

// Encode returns the answer as a message. Revocations beyond MaxRevocations, and ended sessions beyond MaxEnded, are left out.
func (a *Answer) Encode() []byte {
	c := *a
	c.List, c.Ended = shorten(a.List, MaxRevocations), shorten(a.Ended, MaxEnded)
	return encode(&c)
}

// ParseAnswer decodes an answer.
func ParseAnswer(message []byte) (*Answer, error) {
	a := &Answer{}
	if err := decodeMessage(message, a); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(a.Cluster):
		return nil, errField("answer", "cluster")
	case !ValidIncarnation(a.From):
		return nil, errField("answer", "from")
	case len(a.List) > MaxRevocations || !all(a.List, (*Revocation).valid):
		return nil, errField("answer", "revocations")
	case a.More && len(a.List) == 0:
		return nil, errField("answer", "more")
	case !printable(a.Digest, maxText):
		return nil, errField("answer", "digest")
	case !printable(string(a.Session), maxText):
		return nil, errField("answer", "session")
	case !printable(a.Level, maxText):
		return nil, errField("answer", "level")
	case len(a.Ended) > MaxEnded || !all(a.Ended, (*EndedSession).valid):
		return nil, errField("answer", "ended")
	case !printable(a.Next, MaxHolder):
		return nil, errField("answer", "next")
	case a.Catalog != nil && !a.Catalog.valid():
		return nil, errField("answer", "catalog")
	}
	return a, nil
}
