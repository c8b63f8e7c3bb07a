package seal

import (
	"encoding/binary"
	"time"
)

// Kind is the kind of call that a State continues.
type Kind uint8

// The kinds of states.
const (
	Parked  Kind = 1 // a call that waits in this gateway for the client's input
	Relayed Kind = 2 // a call to a modern server that answered input_required; Inner is that server's requestState
)

// State is the content of a requestState.
type State struct {
	Kind      Kind
	Call      uint64 // Parked: number of the call in its actor
	Actor     uint32 // Parked: number of the stateless-session actor
	Node      string // node name of the gateway process that must continue the call; "" means any of a cluster
	Server    string // name of the server
	Replica   uint32 // Relayed: the replica that sent input_required
	Principal string
	Project   string // "" means the whole catalog
	Method    string
	Digest    [32]byte  // digest of the request; see Digest
	Round     uint32    // number of input_required results sent for the call, including this one
	Expiry    time.Time // in whole milliseconds; the state is invalid from this time on
	Inner     []byte    // Relayed: the server's requestState, raw JSON string; nil if it sent none
}

// Check checks that the state belongs to the principal, project and request. It returns nil, ErrPrincipal, ErrProject or
// ErrRequest.
func (v *State) Check(principal, project, method string, digest [32]byte) error {
	switch {
	case !v.IsOf(principal):
		return ErrPrincipal
	case v.Project != project:
		return ErrProject
	case v.Method != method, v.Digest != digest:
		return ErrRequest
	}
	return nil
}

// IsOf reports whether the state was sealed for the principal.
func (v *State) IsOf(principal string) bool { return v.Principal == principal }

// size returns an upper bound on the size of the encoding.
func (v *State) size() int {
	return 128 + len(v.Node) + len(v.Server) + len(v.Principal) + len(v.Project) + len(v.Method) + len(v.Inner)
}

func (v *State) appendTo(b []byte) []byte {
	b = append(b, byte(v.Kind))
	b = binary.AppendUvarint(b, v.Call)
	b = binary.AppendUvarint(b, uint64(v.Actor))
	b = appendText(b, v.Node)
	b = appendText(b, v.Server)
	b = binary.AppendUvarint(b, uint64(v.Replica))
	b = appendText(b, v.Principal)
	b = appendText(b, v.Project)
	b = appendText(b, v.Method)
	b = append(b, v.Digest[:]...)
	b = binary.AppendUvarint(b, uint64(v.Round))
	b = binary.AppendVarint(b, v.Expiry.UnixMilli())
	return appendText(b, string(v.Inner))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// read decodes b into v and reports whether b is valid. Plaintext written by Seal always is, so a failure means a bug.
func (v *State) read(b []byte) bool {
	r := reader{b: b}
	v.Kind = Kind(r.bytes(1)[0])
	v.Call = r.number()
	v.Actor = uint32(r.number())
	v.Node = r.text()
	v.Server = r.text()
	v.Replica = uint32(r.number())
	v.Principal = r.text()
	v.Project = r.text()
	v.Method = r.text()
	v.Digest = [32]byte(r.bytes(32))
	v.Round = uint32(r.number())
	milliseconds, n := binary.Varint(r.b)
	r.skip(n)
	v.Expiry = time.UnixMilli(milliseconds)
	if inner := r.text(); inner != "" {
		v.Inner = []byte(inner)
	}
	return !r.bad && len(r.b) == 0
}

// reader consumes b from the front. After the first error it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

var zeros [32]byte

// bytes returns the next n bytes, at most 32.
func (r *reader) bytes(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return zeros[:n]
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

// skip consumes the n bytes of a varint; n ≤ 0 means that it was invalid.
func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad = true
		return
	}
	r.b = r.b[n:]
}

func (r *reader) text() string {
	n := r.number()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
