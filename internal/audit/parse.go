package audit

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"goblin-actor/internal/decode"
)

// Line is a parsed line of the log. Record describes most fields.
type Line struct {
	N        uint64    `json:"n"`
	Time     time.Time `json:"time"`
	Node     string    `json:"node,omitempty"` // the node of a cluster that wrote the line
	Event    string    `json:"event"`
	Format   int       `json:"format,omitempty"`
	File     uint64    `json:"file,omitempty"`    // number of the file that starts with this line
	Key      string    `json:"key,omitempty"`     // public key of the file's signatures, or of those of the quoted checkpoint
	Witness  string    `json:"witness,omitempty"` // the quoted checkpoint: a signed line of another node's log
	Who      string    `json:"who,omitempty"`
	Via      string    `json:"via,omitempty"`
	Peer     string    `json:"peer,omitempty"`
	Session  string    `json:"session,omitempty"`
	Call     string    `json:"call,omitempty"`
	Project  string    `json:"project,omitempty"`
	Method   string    `json:"method,omitempty"`
	Server   string    `json:"server,omitempty"`
	Item     string    `json:"item,omitempty"`
	Run      string    `json:"run,omitempty"`
	Decision string    `json:"decision,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Outcome  string    `json:"outcome,omitempty"`
	Millis   float64   `json:"ms,omitempty"`
	In       uint64    `json:"in,omitempty"`
	Out      uint64    `json:"out,omitempty"`
	Args     string    `json:"args,omitempty"` // truncated HMAC of the arguments, hex; in a cluster after the key's id and a hyphen
	Count    uint64    `json:"count,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	Prev     string    `json:"prev"` // hash of the previous line, hex; "" in the first line of a log
	Sig      string    `json:"sig,omitempty"`
}

var (
	errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)
	errNoLine  = errors.New("not a line of an audit log")
)

// ParseLine parses a line without its newline. It does not check hashes or signatures.
func ParseLine(raw []byte) (Line, error) {
	var l Line
	if len(raw) > maxLine {
		return l, errTooLong
	}
	if err := decode.JSON(raw, "the text", &l); err != nil {
		return Line{}, fmt.Errorf("%w: %w", errNoLine, err)
	}
	if l.N == 0 || l.Event == "" || l.Time.IsZero() {
		return Line{}, fmt.Errorf("%w: n, time and event are required", errNoLine)
	}
	return l, nil
}

// Signed reports whether lines of this kind are signed.
func (l *Line) Signed() bool { return l.Event == EventFile || l.Event == EventCheckpoint }

// Quoted returns the checkpoint that the line quotes, and false if it quotes none. It does not check the signature.
func (l *Line) Quoted() (Line, bool) {
	if l.Event != EventWitness || len(l.Witness) > maxCheckpoint {
		return Line{}, false
	}
	quoted, err := ParseLine([]byte(l.Witness))
	return quoted, err == nil
}

// SumOf returns the hash of a line, as the next line's prev holds it.
func SumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// signedBy reports whether the line has a valid signature by key.
func signedBy(raw []byte, l *Line, key ed25519.PublicKey) bool {
	end := len(raw) - len(`,"sig":""}`) - len(l.Sig)
	signature, err := base64.StdEncoding.DecodeString(l.Sig)
	if err != nil || end < 0 || string(raw[end:]) != `,"sig":"`+l.Sig+`"}` {
		return false
	}
	return ed25519.Verify(key, append([]byte(signaturePrefix), raw[:end]...), signature)
}
