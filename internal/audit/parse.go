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

// Line is a line of the log as it was read.
type Line struct {
	N        uint64    `json:"n"`
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Format   int       `json:"format,omitempty"`
	File     uint64    `json:"file,omitempty"` // number of the file that begins here
	Key      string    `json:"key,omitempty"`  // public key of its signatures
	Who      string    `json:"who,omitempty"`
	Via      string    `json:"via,omitempty"`
	Peer     string    `json:"peer,omitempty"`
	Session  string    `json:"session,omitempty"`
	Call     string    `json:"call,omitempty"`
	Project  string    `json:"project,omitempty"`
	Method   string    `json:"method,omitempty"`
	Server   string    `json:"server,omitempty"`
	Item     string    `json:"item,omitempty"`
	Decision string    `json:"decision,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Outcome  string    `json:"outcome,omitempty"`
	Millis   float64   `json:"ms,omitempty"`
	In       uint64    `json:"in,omitempty"`
	Out      uint64    `json:"out,omitempty"`
	Args     string    `json:"args,omitempty"` // HMAC of the arguments, hex
	Count    uint64    `json:"count,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	Prev     string    `json:"prev"` // hash of the line before, hex; "" in the first of all
	Sig      string    `json:"sig,omitempty"`
}

var (
	errTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)
	errNoLine  = errors.New("it is no line of an audit log")
)

// ParseLine reads a line without its newline. It looks at no hash and no signature.
func ParseLine(raw []byte) (Line, error) {
	var l Line
	if len(raw) > maxLine {
		return l, errTooLong
	}
	if err := decode.JSON(raw, "the text", &l); err != nil {
		return Line{}, fmt.Errorf("%w: %w", errNoLine, err)
	}
	if l.N == 0 || l.Event == "" || l.Time.IsZero() {
		return Line{}, fmt.Errorf("%w: n, time and event have to be there", errNoLine)
	}
	return l, nil
}

// Signed reports whether the line is one that is signed.
func (l *Line) Signed() bool { return l.Event == EventFile || l.Event == EventCheckpoint }

// SumOf is the hash of a line, as the next one holds it.
func SumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// signedBy reports whether the line carries a signature of that key.
func signedBy(raw []byte, l *Line, key ed25519.PublicKey) bool {
	end := len(raw) - len(`,"sig":""}`) - len(l.Sig)
	signature, err := base64.StdEncoding.DecodeString(l.Sig)
	if err != nil || end < 0 || string(raw[end:]) != `,"sig":"`+l.Sig+`"}` {
		return false
	}
	return ed25519.Verify(key, append([]byte(signedAs), raw[:end]...), signature)
}
