package message

import "goblin-actor/actors/kernel"

// Limits of stored logins. Logins beyond them are refused.
const (
	MaxTokenKey   = 1 << 10  // bytes of a key
	MaxTokenBytes = 64 << 10 // bytes of a value
	MaxTokens     = 4096     // keys
)

// Token is a token actor's record of a login, in its own encoding. It is stored only in the state file, sealed, and
// never logged.
type Token []byte

// String keeps the token out of logs.
func (Token) String() string { return "[redacted]" }

// GoString keeps the token out of logs.
func (Token) GoString() string { return "[redacted]" }

// MarshalText keeps the token out of JSON.
func (Token) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// RememberToken stores a login under a key; a nil Value removes it. The newest value counts. If From is set, it receives
// TokenStored when the value is on disk or cannot be written. Token actors wait for that, at most 10 s, before they use a
// token that came with a new refresh token, or report a login or logout as complete. If two values of one key are pending,
// the earlier one is answered with an error.
type RememberToken struct {
	Key    string
	Value  Token
	From   kernel.Reference // receives TokenStored; zero = no answer
	Number uint64           // returned in TokenStored
}

func (RememberToken) Class() kernel.Class { return kernel.Outcome }

// TokenStored answers RememberToken. If Err is set, the value is not on disk, or not removed from it. The store retries
// only if another process has locked the file.
type TokenStored struct {
	Key    string
	Number uint64
	Err    string // "" if the value is on disk, or removed
}

func (TokenStored) Class() kernel.Class { return kernel.Outcome }

// ReadToken asks for the current value of a key: another gateway using the same state file may have renewed the login.
type ReadToken struct {
	Key  string
	From kernel.Reference // receives TokenRead
}

func (ReadToken) Class() kernel.Class { return kernel.Outcome }

// Abandon answers if there is no store.
func (m ReadToken) Abandon(kernel.Reason) {
	m.From.Tell(TokenRead{Key: m.Key, Err: "the state file is not in use"})
}

// Abandon answers if there is no store.
func (m RememberToken) Abandon(kernel.Reason) {
	if m.From != (kernel.Reference{}) {
		m.From.Tell(TokenStored{Key: m.Key, Number: m.Number, Err: "the state file is not in use"})
	}
}

// TokenRead answers ReadToken. Value is nil if the key has none.
type TokenRead struct {
	Key   string
	Value Token
	Err   string // why the file cannot be read; "" if it can
}

func (TokenRead) Class() kernel.Class { return kernel.Outcome }
