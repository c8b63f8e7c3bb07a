package cluster

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
)

// A session id of a cluster contains what a node needs to serve the session's ordinary requests, sealed for the nodes:
//
//	"2" base64url( nonce (12) | secret id (4) | incarnation (8) | ciphertext | tag (16) )
//
// The nonce comes first, because people are shown the first characters of an id, and these should differ. The format, the
// secret id and the incarnation are authenticated, but not encrypted. The key is that of the incarnation.
const (
	sessionFormat = "2"
	nonceSize     = 12
	tagSize       = 16
	headSize      = nonceSize + len(secretID{}) + IncarnationLength

	// MaxSessionID is the length of the longest session id in characters.
	MaxSessionID = 4096

	// MaxDeclared is how many bytes of a client's capabilities, and of its clientInfo, a session id holds. If one of them
	// is longer, the id holds neither, and only the session's home can serve it.
	MaxDeclared = 512

	maxFact = 256 // bytes of any other fact
)

// SessionFacts are what a session id says about its session. Facts that a client chooses are bounded, see MaxDeclared.
type SessionFacts struct {
	Version      string // negotiated protocol version
	Path         string // the endpoint on which the session was opened
	Project      string // "" = none
	Server       string // the only server in view; "" = all
	Holder       string // identity.HolderOf the principal
	Capabilities []byte // raw JSON, as declared by the client; nil = it declared none
	Info         []byte // clientInfo, raw JSON; nil = the client sent none

	// Partial says that Capabilities and Info are missing, because one of them is longer than MaxDeclared. OpenSession sets
	// it; SealSession ignores it.
	Partial bool
}

// Movable reports whether another node can become the session's home. A session of HTTP+SSE cannot move, because it ends with its
// stream. Its id contains only its Holder.
func (f *SessionFacts) Movable() bool { return !f.Partial && f.Version != "" }

// Errors of SealSession and OpenSession.
var (
	ErrLongFact   = errors.New("a session's path, project, server or principal is too long for its id")
	ErrNoSession  = errors.New("not a session id of this cluster")
	errNotDecoded = errors.New("the facts of the session are malformed")
)

// SealSession returns a new session id for a session whose home is the incarnation. The error is ErrLongFact.
func (s *Secrets) SealSession(incarnation string, f *SessionFacts) (string, error) {
	if max(len(f.Version), len(f.Path), len(f.Project), len(f.Server), len(f.Holder)) > maxFact {
		return "", ErrLongFact
	}
	k := &(*s.list.Load())[0]
	head := append(k.id[:], incarnation...)
	// The AEAD puts its random nonce in front of the ciphertext. The head is moved behind the nonce.
	sealed := k.sessionAEAD(incarnation).Seal(nil, nil, f.encode(), sessionAAD(head))
	id := make([]byte, 0, len(sealed)+len(head))
	id = append(append(append(id, sealed[:nonceSize]...), head...), sealed[nonceSize:]...)
	return sessionFormat + base64.RawURLEncoding.EncodeToString(id), nil
}

// OpenSession returns the facts of a session, and the incarnation that is its home. The error is ErrNoSession, whatever
// is wrong with the id: a client must not learn more.
func (s *Secrets) OpenSession(id string) (incarnation string, f SessionFacts, err error) {
	text, ok := strings.CutPrefix(id, sessionFormat)
	if !ok || len(id) > MaxSessionID || strings.ContainsAny(text, "\r\n") { // base64 would ignore them
		return "", f, ErrNoSession
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < headSize+tagSize {
		return "", f, ErrNoSession
	}
	head := sealed[nonceSize:headSize]
	incarnation = string(head[len(secretID{}):])
	k := s.of(secretID(head))
	if k == nil || !ValidIncarnation(incarnation) {
		return "", f, ErrNoSession
	}
	plain, err := k.sessionAEAD(incarnation).Open(nil, nil, append(sealed[:nonceSize:nonceSize], sealed[headSize:]...), sessionAAD(head))
	if err != nil || f.decode(plain) != nil {
		return "", SessionFacts{}, ErrNoSession
	}
	return incarnation, f, nil
}

// HomeOf returns the incarnation that a session id names as its home, or false if the id does not have the form of a
// session id of a cluster. It does not check the seal.
func HomeOf(id string) (incarnation string, ok bool) {
	head, ok := headOf(id)
	if !ok {
		return "", false
	}
	incarnation = string(head[headSize-IncarnationLength:])
	return incarnation, ValidIncarnation(incarnation)
}

// OpenedBy reports whether a session id names the incarnation as its home, as HomeOf does, without allocating.
func OpenedBy(id, incarnation string) bool {
	head, ok := headOf(id)
	return ok && incarnation == string(head[headSize-IncarnationLength:]) && ValidIncarnation(incarnation)
}

// Names reports whether a session id names one of the secrets as the one that has sealed it. It does not check the seal.
func (s *Secrets) Names(id string) bool {
	head, ok := headOf(id)
	return ok && s.of(secretID(head[nonceSize:])) != nil
}

// headOf returns the nonce, the secret id and the incarnation of a session id, or false if the id is too short or too long, or
// has another format.
func headOf(id string) (head [headSize]byte, ok bool) {
	if len(id) > MaxSessionID || len(id) < len(sessionFormat)+base64.RawURLEncoding.EncodedLen(headSize+tagSize) || id[:len(sessionFormat)] != sessionFormat {
		return head, false
	}
	// The size of the head is a multiple of three bytes, so its characters contain nothing else.
	_, err := base64.RawURLEncoding.Decode(head[:], []byte(id[len(sessionFormat):][:base64.RawURLEncoding.EncodedLen(headSize)]))
	return head, err == nil
}

// EventMark separates the incarnation of the node that keeps an event of a call's stream from the rest of the event's id.
const EventMark = "~"

// NodeOfEvent returns the incarnation of the node that keeps an event of a call's stream, or false if the id is not one of
// such an event.
func NodeOfEvent(id string) (incarnation string, ok bool) {
	incarnation, rest, ok := strings.Cut(id, EventMark)
	_, stream, _ := strings.Cut(rest, "-")
	return incarnation, ok && ValidIncarnation(incarnation) && strings.HasPrefix(stream, "p")
}

func sessionAAD(head []byte) []byte { return append([]byte(sessionFormat), head...) }

func (k *secret) sessionAEAD(incarnation string) cipher.AEAD {
	block, err := aes.NewCipher(k.key("session", incarnation))
	if err != nil {
		panic(err) // 32 bytes are always a valid key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES always works with GCM
	}
	return aead
}

// factsVersion is the version of the encoding of SessionFacts.
const factsVersion = 1

// encode returns the facts as bytes: the version, 1 if the facts are partial, and each fact with its length before it.
func (f *SessionFacts) encode() []byte {
	b := []byte{factsVersion, 0}
	for _, fact := range []string{f.Version, f.Path, f.Project, f.Server, f.Holder} {
		b = appendFact(b, fact)
	}
	if max(len(f.Capabilities), len(f.Info)) > MaxDeclared {
		b[1] = 1
		return b
	}
	return appendFact(appendFact(b, string(f.Capabilities)), string(f.Info))
}

func appendFact(b []byte, fact string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(fact))), fact...)
}

// decode is the reverse of encode. Only nodes seal facts, so an error means that a node with another version of the gateway
// encoded them.
func (f *SessionFacts) decode(b []byte) error {
	if len(b) < 2 || b[0] != factsVersion || b[1] > 1 {
		return errNotDecoded
	}
	r := factReader{b: b[2:]}
	f.Partial = b[1] == 1
	f.Version, f.Path, f.Project, f.Server, f.Holder = string(r.next()), string(r.next()), string(r.next()), string(r.next()), string(r.next())
	if !f.Partial {
		f.Capabilities, f.Info = r.next(), r.next()
	}
	if r.bad || len(r.b) > 0 {
		*f = SessionFacts{}
		return errNotDecoded
	}
	return nil
}

// factReader consumes b from the front. After the first error it returns nil.
type factReader struct {
	b   []byte
	bad bool
}

// next returns the next fact, or nil if it is empty.
func (r *factReader) next() []byte {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 || n > uint64(len(r.b)-size) {
		r.bad = true
		return nil
	}
	fact := r.b[size : size+int(n)]
	r.b = r.b[size+int(n):]
	if n == 0 {
		return nil
	}
	return fact
}
