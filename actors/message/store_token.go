package message

import "goblin-actor/actors/kernel"

// Bounds of what is remembered of logins. What is beyond them is refused.
const (
	MaxTokenKey   = 1 << 10  // bytes of a key
	MaxTokenBytes = 64 << 10 // bytes of a value
	MaxTokens     = 4096     // keys
)

// Token is what a token actor remembers of a login, in a writing of its own. Only the state file has it, sealed; it is never logged.
type Token []byte

// String keeps the token out of logs.
func (Token) String() string { return "[redacted]" }

// GoString likewise.
func (Token) GoString() string { return "[redacted]" }

// MarshalText likewise, where something is written as JSON.
func (Token) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// RememberToken notes a login under a key; a nil Value forgets it. The newest counts. With From, TokenStored tells it when the
// value is on disk: a refresh token that replaces another is not used before, and nobody is told before that he is logged in or out. Of
// two that wait under one key the earlier is told that it was overtaken.
type RememberToken struct {
	Key    string
	Value  Token
	From   kernel.Reference // is told TokenStored; zero = nobody
	Number uint64           // comes back with it
}

func (RememberToken) Class() kernel.Class { return kernel.Outcome }

// TokenStored answers RememberToken. With Err, which is for people, the value is not on disk, or not gone from it; the store goes on trying
// only when another process holds the file.
type TokenStored struct {
	Key    string
	Number uint64
	Err    string // "" = it is on disk, or gone from it
}

func (TokenStored) Class() kernel.Class { return kernel.Outcome }

// ReadToken asks what is known under a key now: another gateway with the same state file may have renewed the login since.
type ReadToken struct {
	Key  string
	From kernel.Reference // is told TokenRead
}

func (ReadToken) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where there is no store.
func (m ReadToken) Abandon(kernel.Reason) {
	m.From.Tell(TokenRead{Key: m.Key, Err: "the state file is not in use"})
}

// Abandon likewise.
func (m RememberToken) Abandon(kernel.Reason) {
	if m.From != (kernel.Reference{}) {
		m.From.Tell(TokenStored{Key: m.Key, Number: m.Number, Err: "the state file is not in use"})
	}
}

// TokenRead answers ReadToken. A nil Value without Err: nothing is known.
type TokenRead struct {
	Key   string
	Value Token
	Err   string // for people: the file cannot be read now
}

func (TokenRead) Class() kernel.Class { return kernel.Outcome }
