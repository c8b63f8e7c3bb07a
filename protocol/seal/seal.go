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
	MaxInner = 64 << 10  // maximum size of a server's own requestState, including quotes
	MaxText  = 116 << 10 // maximum size of a text that Open accepts; no result of Seal is larger

	maxName  = 4 << 10 // maximum size of each string in a State
	version  = 2
	headSize = 1 + 4 // version and key id
	overhead = 12 + 16
)

// The reasons for refusing a requestState. Open and Check return them; Seal returns ErrTooLarge.
var (
	ErrMalformed = errors.New("requestState is malformed or truncated") // not base64url, too short, too long, or an unknown version
	ErrForeign   = errors.New("requestState is sealed with another key")
	ErrTampered  = errors.New("requestState was changed")
	ErrExpired   = errors.New("requestState has expired")
	ErrPrincipal = errors.New("requestState belongs to another principal")
	ErrProject   = errors.New("requestState belongs to another project")
	ErrRequest   = errors.New("requestState belongs to another request")             // method, name or arguments differ
	ErrTooLarge  = errors.New("the server's requestState is too large to be sealed") // from Seal: more than MaxInner, or a name of more than 4 KiB
)

// Sealer encrypts and decrypts States. It is safe for concurrent use.
type Sealer struct {
	own   *box // nil in a cluster
	tasks [32]byte
	nodes Nodes // nil = the gateway runs alone
}

// New returns a Sealer for the key of 32 random bytes.
func New(key [32]byte) *Sealer {
	return &Sealer{own: newBox(key), tasks: [32]byte(macOf(key[:], "goblin-actor task ids"))}
}

// box encrypts with one key.
type box struct {
	aead cipher.AEAD // prepends a random nonce
	head [headSize]byte
}

func newBox(key [32]byte) *box {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are always a valid key
	}
	b := &box{}
	if b.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		panic(err) // AES always works with GCM
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("goblin-actor requestState key id"))
	b.head[0] = version
	copy(b.head[1:], mac.Sum(nil))
	return b
}

// macOf returns a MAC of texts. Its input includes the length of each text, so different lists always have different input.
func macOf(key []byte, texts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, text := range texts {
		mac.Write(binary.AppendUvarint(nil, uint64(len(text))))
		mac.Write([]byte(text))
	}
	return mac.Sum(nil)
}

// tagSize is the number of bytes of a MAC in a task tag. A MAC of 16 bytes cannot be guessed.
const tagSize = 16

// TaskTag returns the suffix that the gateway adds to the id of a server's task for a principal. It consists of letters,
// digits, - and _, and cannot be guessed by other principals. It changes only with the key; see also IsTaskTag.
func (s *Sealer) TaskTag(principal, server, id string) string {
	key := s.tasks
	if s.nodes != nil {
		key = s.nodes.TaskKeys()[0]
	}
	return taskTag(key, principal, server, id)
}

func taskTag(key [32]byte, principal, server, id string) string {
	return base64.RawURLEncoding.EncodeToString(macOf(key[:], principal, server, id)[:tagSize])
}

// IsTaskTag reports whether TaskTag has returned the tag for these texts, under any key of the Sealer.
func (s *Sealer) IsTaskTag(tag, principal, server, id string) bool {
	keys := [][32]byte{s.tasks}
	if s.nodes != nil {
		keys = s.nodes.TaskKeys()
	}
	for _, key := range keys {
		if hmac.Equal([]byte(taskTag(key, principal, server, id)), []byte(tag)) {
			return true
		}
	}
	return false
}

// Seal returns the encrypted state as text for requestState. The only error is ErrTooLarge.
func (s *Sealer) Seal(v *State) (string, error) {
	if len(v.Inner) > MaxInner || max(len(v.Node), len(v.Server), len(v.Principal), len(v.Project), len(v.Method)) > maxName {
		return "", ErrTooLarge
	}
	if s.nodes != nil {
		incarnation := s.nodes.Current()
		return incarnation + nodeMark + newBox(s.nodes.StateKeys(incarnation)[0]).seal(v), nil
	}
	return s.own.seal(v), nil
}

func (b *box) seal(v *State) string {
	plain := v.appendTo(make([]byte, 0, v.size()))
	sealed := make([]byte, headSize, headSize+len(plain)+overhead)
	copy(sealed, b.head[:])
	return base64.RawURLEncoding.EncodeToString(b.aead.Seal(sealed, nil, plain, b.head[:]))
}

// Open decrypts text. The error is ErrMalformed, ErrForeign, ErrTampered or ErrExpired. With ErrExpired, Open still
// returns the State; with the other errors it returns a zero State.
func (s *Sealer) Open(text string, now time.Time) (State, error) {
	if len(text) > MaxText || strings.ContainsAny(text, "\r\n") { // base64 would ignore them
		return State{}, ErrMalformed
	}
	boxes := []*box{s.own}
	if s.nodes != nil {
		if boxes, text, now = s.boxesOf(text, now); boxes == nil {
			return State{}, ErrMalformed
		}
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < headSize+overhead || sealed[0] != version {
		return State{}, ErrMalformed
	}
	for _, b := range boxes {
		if [headSize]byte(sealed) == b.head {
			return b.open(sealed, now)
		}
	}
	return State{}, ErrForeign
}

func (b *box) open(sealed []byte, now time.Time) (State, error) {
	plain, err := b.aead.Open(nil, nil, sealed[headSize:], b.head[:])
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
