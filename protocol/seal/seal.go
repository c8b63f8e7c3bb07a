// Package seal makes requestState: what the gateway must find again when a modern client retries.
package seal

import (
	"errors"
	"time"
)

// Why a requestState is refused. Clients are told the same of all: protocol.RequestStateInvalid.
var (
	ErrMalformed = errors.New("requestState: malformed or cut off")
	ErrForeign   = errors.New("requestState: sealed with another key")
	ErrTampered  = errors.New("requestState: changed")
	ErrExpired   = errors.New("requestState: expired")
	ErrPrincipal = errors.New("requestState: of another principal")
	ErrRequest   = errors.New("requestState: of another request")
	ErrTooLarge  = errors.New("requestState: too large to seal")
)

// MaxInner is how large a server's own requestState may be, in bytes.
const MaxInner = 64 << 10

// Kind says what a State leads back to.
type Kind uint8

const (
	Parked  Kind = 1 // a call that waits at a desk of ours
	Relayed Kind = 2 // a modern server's own state
)

// State is what a requestState holds.
type State struct {
	Kind      Kind
	Call      uint64 // Parked: the call's number at its desk
	Desk      uint32 // Parked: the desk's number
	Node      string // the gateway process that holds the call; "" = any
	Server    string // name of the server
	Replica   uint32 // Relayed: the replica that asked
	Principal string
	Method    string
	Digest    [32]byte // of the request, see Digest
	Round     uint32   // from 1
	Expiry    time.Time
	Inner     []byte // Relayed: the server's requestState, raw JSON string; nil = it gave none
}

// Check reports whether the state belongs to this principal and request.
func (s *State) Check(principal, method string, digest [32]byte) error { return nil }

// Sealer seals and opens. It may be used from any goroutine.
type Sealer struct{}

// New returns a Sealer for the key.
func New(key [32]byte) *Sealer { return &Sealer{} }

// Seal returns the state as text for requestState. ErrTooLarge is the only error.
func (s *Sealer) Seal(v *State) (string, error) { return "", nil }

// Open returns what was sealed.
func (s *Sealer) Open(text string, now time.Time) (State, error) { return State{}, nil }

// Digest is a hash of what a request asks: its method, name or URI (raw JSON string) and arguments (raw JSON object; nil = none).
func Digest(method string, target, arguments []byte) [32]byte { return [32]byte{} }
