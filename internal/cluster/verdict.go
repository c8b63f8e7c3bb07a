package cluster

// Reasons of a verdict.
const (
	ReasonSilent = "silent" // its beats were missing for SilentAfter
	ReasonGone   = "gone"   // it refused a connection, and no process of its incarnation answers
)

// Verdict tells all nodes that one node has given up an incarnation. It is final: the incarnation is no longer a member,
// and if its process still runs, that process takes a new incarnation.
//
//	{"cluster":"prod","by":"bbbbbbb2","node":"a","incarnation":"abcdefg2","reason":"silent"}
type Verdict struct {
	Cluster     string `json:"cluster"`
	By          string `json:"by"`             // incarnation of the sender
	Node        string `json:"node,omitempty"` // name of the node that was given up, for display
	Incarnation string `json:"incarnation"`    // the incarnation that was given up
	Reason      string `json:"reason"`
}

// Encode returns the verdict as a message.
func (v *Verdict) Encode() []byte { return encode(v) }

// ParseVerdict decodes a verdict.
func ParseVerdict(message []byte) (*Verdict, error) {
	v := &Verdict{}
	if err := decodeMessage(message, v); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(v.Cluster):
		return nil, errField("verdict", "cluster")
	case !ValidIncarnation(v.By):
		return nil, errField("verdict", "by")
	case !ValidIncarnation(v.Incarnation):
		return nil, errField("verdict", "incarnation")
	case !printable(v.Node, MaxName):
		return nil, errField("verdict", "node")
	case !printable(v.Reason, maxText):
		return nil, errField("verdict", "reason")
	}
	return v, nil
}
