package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// Sizes in bytes.
const (
	MaxInner = 64 << 10  // a server's own requestState, quotes included
	MaxText  = 112 << 10 // what Open looks at at all: more than the largest text Seal makes

	maxName  = 4 << 10 // each of the strings of a State
	version  = 2
	headSize = 1 + 4 // version and key id
	overhead = 12 + 16
)

// Why a requestState is refused.
var (
	ErrMalformed = errors.New("requestState is malformed or cut off") // no base64url, too short or long, or of an unknown version
	ErrForeign   = errors.New("requestState is sealed with another key")
	ErrTampered  = errors.New("requestState was changed")
	ErrExpired   = errors.New("requestState has expired")
	ErrPrincipal = errors.New("requestState belongs to another principal")
	ErrProject   = errors.New("requestState belongs to another project")
	ErrRequest   = errors.New("requestState belongs to another request")             // method, name or arguments differ
	ErrTooLarge  = errors.New("the server's requestState is too large to be sealed") // from Seal: over MaxInner, or a name over 4 KiB
)

// Sealer seals and opens. It may be used from any goroutine.
type Sealer struct {
	aead cipher.AEAD // puts a random nonce in front by itself
	head [headSize]byte

	tasks [32]byte // key of TaskTag
}

// New returns a Sealer for the key.
func New(key [32]byte) *Sealer {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are always a key
	}
	s := &Sealer{}
	if s.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		panic(err) // AES is always fit for GCM
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("goblin-actor requestState key id"))
	s.head[0] = version
	copy(s.head[1:], mac.Sum(nil))
	s.tasks = [32]byte(hashed(key[:], "goblin-actor task ids"))
	return s
}

// hashed is a MAC of texts, each with its length: no two lists of texts are hashed as the same bytes.
func hashed(key []byte, texts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, text := range texts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(text))))
		mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}

// tagSize is how many bytes of a MAC nobody guesses.
const tagSize = 16

// TaskTag is what a principal's id of a task of a server ends with: the same each time, and of letters, digits, - and _. Nobody can make it
// who has not been told.
func (s *Sealer) TaskTag(principal, server, id string) string {
	return base64.RawURLEncoding.EncodeToString(hashed(s.tasks[:], principal, server, id)[:tagSize])
}

// Seal returns the state as text for requestState. ErrTooLarge is the only error.
func (s *Sealer) Seal(v *State) (string, error) {
	if len(v.Inner) > MaxInner || max(len(v.Node), len(v.Server), len(v.Principal), len(v.Project), len(v.Method)) > maxName {
		return "", ErrTooLarge
	}
	plain := v.appendTo(make([]byte, 0, v.size()))
	sealed := make([]byte, headSize, headSize+len(plain)+overhead)
	copy(sealed, s.head[:])
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(sealed, nil, plain, s.head[:])), nil
}

// Open returns what was sealed. The error is ErrMalformed, ErrForeign, ErrTampered or ErrExpired; only with the last
// the State is filled in.
func (s *Sealer) Open(text string, now time.Time) (State, error) {
	if len(text) > MaxText || strings.ContainsAny(text, "\r\n") { // which base64 would skip
		return State{}, ErrMalformed
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < headSize+overhead || sealed[0] != version {
		return State{}, ErrMalformed
	}
	if [headSize]byte(sealed) != s.head {
		return State{}, ErrForeign
	}
	plain, err := s.aead.Open(nil, nil, sealed[headSize:], s.head[:])
	if err != nil {
		return State{}, ErrTampered
	}
	var v State
	if !v.read(plain) {
		return State{}, ErrMalformed
	}
	if !now.Before(v.Expiry) {
		return v, ErrExpired
	}
	return v, nil
}
