package masterkey

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// Label is the purpose of a key.
type Label string

// Labels. A new purpose needs a new label. The meaning of a label never changes.
const (
	State Label = "state" // secrets in the state file
	Tasks Label = "tasks" // public ids of tasks
	Audit Label = "audit" // hashes of arguments and the signature in the audit log

	identify Label = "id" // identifies the master key
)

const (
	// Credential is the name of the systemd credential with the key.
	Credential = "goblin-actor.key"
	// Variable is the environment variable that is set to "keyring" to store the key there.
	Variable = "GOBLIN_MASTER_KEY"
	// File is the name of the key's file, in the directory of the state file.
	File = "master.key"

	keyLength     = 32
	minCredential = 32      // minimum size of a credential in bytes
	maxCredential = 1 << 16 // maximum size of a credential in bytes
	info          = "goblin-actor v1 "
)

// ErrUnreachable is returned if the key exists but cannot be used, or cannot be stored in the keyring.
var ErrUnreachable = errors.New("the master key is not available")

// Keyring is the user's keyring. Get returns ErrNotFound if it has no such entry.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, value string) error
}

// ErrNotFound is returned by Keyring.Get for a missing entry.
var ErrNotFound = errors.New("the keyring has no such entry")

// Options select the places where the key may be stored.
type Options struct {
	Dir     string              // directory of the state file
	Getenv  func(string) string // nil for os.Getenv
	Keyring Keyring             // nil if there is none
	Move    bool                // store a new key in the keyring, and move an existing one there
	Log     *slog.Logger        // reports where a new key is stored; may be nil
}

// Master is the master key. It is safe for concurrent use.
type Master struct {
	secret []byte
	file   string // file it was read from; "" if it came from elsewhere
	settle sync.Once
	err    error // result of settle
}

// Load returns the key, and creates it if it does not exist. It may block while it accesses the keyring.
func Load(o Options) (*Master, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if dir := o.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		m, err := fromCredential(filepath.Join(dir, Credential))
		if m != nil || err != nil {
			return m, err
		}
	}
	return fromFile(o)
}

// Of returns a Master for a known secret.
func Of(secret []byte) *Master { return &Master{secret: secret} }

// Key derives the key for one purpose.
func (m *Master) Key(label Label) [keyLength]byte {
	key, err := hkdf.Key(sha256.New, m.secret, nil, info+string(label), keyLength)
	if err != nil {
		panic("masterkey: " + err.Error()) // only for invalid lengths, which are constants here
	}
	return [keyLength]byte(key)
}

// ID identifies the master key. It is not secret.
func (m *Master) ID() string {
	key := m.Key(identify)
	return hex.EncodeToString(key[:8])
}

// Settle flushes the key's file to disk. Call it before storing data that needs the key.
func (m *Master) Settle() error {
	m.settle.Do(func() {
		if m.file != "" {
			m.err = syncFile(m.file)
		}
	})
	return m.err
}

// String returns a placeholder, to keep the key out of logs.
func (*Master) String() string { return "[redacted]" }

// GoString returns a placeholder.
func (*Master) GoString() string { return "[redacted]" }

// fromCredential reads the key from a credential. It returns nil if the file does not exist.
func fromCredential(path string) (*Master, error) {
	secret, err := readSmall(path, maxCredential)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: read credential %s: %w", ErrUnreachable, Credential, err)
	case len(secret) < minCredential:
		return nil, fmt.Errorf("%w: the credential %s has %d bytes; at least %d are required", ErrUnreachable, Credential, len(secret), minCredential)
	}
	return &Master{secret: secret}, nil
}
