package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// evidence is what a log says about its own signed lines and about those of other nodes' logs.
type evidence struct {
	own    []signedAt
	quotes map[string][]quote // by node, in the order of the log
	names  map[string]string  // each key and file name once, because many quotes have the same
}

// signedAt is a signed line of a log.
type signedAt struct {
	n    uint64
	sum  [sha256.Size]byte
	time time.Time
}

// quote is a signed line of a log that another node has quoted.
type quote struct {
	signedAt
	key  string // public key of the signature
	by   string // the node that quotes it
	file string // of the node that quotes it
	line int    // in the file, from 1
}

// collect adds the line to the evidence. It checks the signature of a quoted line.
func (v *verifier) collect(line *Line) error {
	e := v.evidence
	if line.Signed() {
		own := signedAt{n: line.N, time: line.Time}
		_, _ = hex.Decode(own.sum[:], []byte(v.prev)) // cannot fail: SumOf has made it
		e.own = append(e.own, own)
	}
	if line.Event != EventWitness {
		return nil
	}
	c := Checkpoint{line.Key, line.Witness}
	quoted, err := c.parse()
	if err != nil {
		return v.fail(line.N, "the quoted line of another node is not valid: "+err.Error())
	}
	if e.quotes == nil {
		e.quotes, e.names = map[string][]quote{}, map[string]string{}
	}
	e.quotes[quoted.Node] = append(e.quotes[quoted.Node], quote{
		signedAt: signedAt{quoted.N, sha256.Sum256([]byte(c.Line)), quoted.Time},
		key:      e.once(c.Key), by: e.once(line.Node), file: e.once(v.file), line: v.line,
	})
	return nil
}

// once returns a string equal to s that is the same for all equal ones.
func (e *evidence) once(s string) string {
	if kept, ok := e.names[s]; ok {
		return kept
	}
	e.names[s] = s
	return s
}
