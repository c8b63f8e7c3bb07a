package cluster

// Limits of an AuditMark.
const (
	maxAuditKey  = 64
	maxAuditLine = 1024
)

// AuditMark tells the other nodes the newest signed line of a node's audit log, once a minute. They quote it in their own
// logs. It may get lost: the next one follows in a minute.
//
//	{"cluster":"prod","from":"abcdefg2","key":"1fm+…","line":"{\"n\":80,…,\"sig\":\"…\"}"}
type AuditMark struct {
	Cluster string `json:"cluster"`
	From    string `json:"from"` // incarnation of the sender
	Key     string `json:"key"`  // public key of the log's signatures
	Line    string `json:"line"`
}

// Encode returns the mark as a message.
func (m *AuditMark) Encode() []byte { return encode(m) }

// ParseAuditMark decodes a mark. It does not check the line's signature.
func ParseAuditMark(message []byte) (*AuditMark, error) {
	m := &AuditMark{}
	if err := decodeMessage(message, m); err != nil {
		return nil, err
	}
	switch {
	case !ValidName(m.Cluster):
		return nil, errField("audit mark", "cluster")
	case !ValidIncarnation(m.From):
		return nil, errField("audit mark", "from")
	case m.Key == "" || !printable(m.Key, maxAuditKey):
		return nil, errField("audit mark", "key")
	case m.Line == "" || !printable(m.Line, maxAuditLine):
		return nil, errField("audit mark", "line")
	}
	return m, nil
}
