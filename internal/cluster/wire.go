package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"goblin-actor/internal/decode"
)

// The nodes of a cluster send each other these messages: a Beat several times a second, a Verdict about a node that is
// gone, Hints about sessions, Revocations of keys, Queries with their Answers, Notes with their NoteAnswers, and AuditMarks.
//
// They are JSON, because a decoder then ignores members that it does not know, and a person can read them. Decoding a
// usual beat takes about 10 µs, and a node of three receives ten a second. A decoder accepts at most MaxMessage bytes, and
// checks every length and number.
const (
	// MaxMessage is the size of the largest message between nodes in bytes.
	MaxMessage = 64 << 10

	// MaxName is the maximum length of the name of a cluster or node in bytes.
	MaxName = 128

	// MaxHolder is the maximum length of the holder of a key in bytes.
	MaxHolder = 256

	maxAddress = 300  // bytes of host and port
	maxText    = 128  // bytes of a version or of a digest
	maxID      = 1024 // bytes of a request id
)

// Subjects of the messages.
const (
	SubjectBeat    = "members.beat"
	SubjectVerdict = "members.verdict"
	SubjectRevoked = "members.revoked"
	SubjectHint    = "members.hint"
	SubjectAudit   = "audit.mark"
)

// SubjectOf returns the subject of queries to an incarnation.
func SubjectOf(incarnation string) string { return "members.node." + incarnation }

// Protocol is the version of the messages between nodes, and of the requests that they relay. Each version of the gateway
// speaks it and the version before it, so nodes can be upgraded one after another.
const Protocol = 1

// Versions are the versions of the messages that a node speaks, from the oldest to the newest.
type Versions [2]int

// Spoken are the versions that this gateway speaks.
var Spoken = Versions{Protocol, Protocol}

// Common reports whether nodes that speak v and other have a version in common.
func (v Versions) Common(other Versions) bool { return v[0] <= other[1] && other[0] <= v[1] }

func (v Versions) valid() bool { return 0 < v[0] && v[0] <= v[1] }

// Errors of the decoders.
var (
	// ErrVersion is returned for a message from a node that has no version of the messages in common with this node.
	ErrVersion = errors.New("the other node and this node have no version of the cluster's messages in common")

	errMessageSize = fmt.Errorf("a message between nodes is larger than %d bytes", MaxMessage)
)

// decodeMessage decodes a message. Its caller checks the fields.
func decodeMessage(b []byte, m any) error {
	if len(b) > MaxMessage {
		return errMessageSize
	}
	return decode.JSON(b, "a message of a node", m)
}

// encode encodes a message. Every message can be encoded: Hint.Encode has checked Request, the only json.RawMessage.
func encode(m any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		panic("cluster: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// errField returns the error for a field with a value that is not accepted.
func errField(message, field string) error {
	return fmt.Errorf("%s of a node: the field %s is missing or invalid", message, field)
}

// printable reports whether a text has at most limit bytes, and only characters that can be printed in one line.
func printable(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// ValidName reports whether a text may be the name of a cluster or node.
func ValidName(s string) bool { return s != "" && printable(s, MaxName) }

// shorten returns the first elements of a list, at most limit.
func shorten[T any](list []T, limit int) []T {
	n := min(len(list), limit)
	return list[:n:n]
}
