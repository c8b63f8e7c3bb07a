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

// Label names what a key is for.
type Label string

// Labels. A new use gets a new one; one that has been used is never given another meaning.
const (
	State Label = "state" // records of the state file
	Tasks Label = "tasks" // public ids of tasks
	Audit Label = "audit" // hashes of arguments and the signature in the audit log

	identify Label = "id" // what the key is recognized by
)

const (
	// Credential is the name of the credential that holds the key, where systemd gives one.
	Credential = "goblin-actor.key"
	// Variable is the name of the variable that is "keyring" where the key shall go there.
	Variable = "GOBLIN_MASTER_KEY"
	// File is the name of the key's file in the directory of the state file.
	File = "master.key"

	keyLength     = 32
	minCredential = 32      // bytes
	maxCredential = 1 << 16 // bytes
	info          = "goblin-actor v1 "
)

// ErrUnreachable is returned when there is a key, but not for us at this moment.
var ErrUnreachable = errors.New("the master key is out of reach")

// Keyring is the user's keyring. Get returns ErrNotFound when it is there and has no such entry.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, value string) error
}

// ErrNotFound is returned by a Keyring without that entry.
var ErrNotFound = errors.New("the keyring has no such entry")

// Options say where the key may be.
type Options struct {
	Dir     string              // of the state file
	Getenv  func(string) string // nil = os.Getenv
	Keyring Keyring             // nil = there is none
	Move    bool                // a new key goes into the keyring, and one that is in the file too
	Log     *slog.Logger        // hears where a new key is kept; nil = nobody
}

// Master is the key. Immutable, safe for every goroutine.
type Master struct {
	secret []byte
	file   string // where it was read from; "" = elsewhere
	settle sync.Once
	err    error // of settle
}

// Load finds the key, or makes one. It reads files and may ask the keyring, which takes its time.
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

// Of is a master key that is known already.
func Of(secret []byte) *Master { return &Master{secret: secret} }

// Key is the key for one use.
func (m *Master) Key(label Label) [keyLength]byte {
	key, err := hkdf.Key(sha256.New, m.secret, nil, info+string(label), keyLength)
	if err != nil {
		panic("masterkey: " + err.Error()) // only for lengths that are constants here
	}
	return [keyLength]byte(key)
}

// ID tells one master key from another. It is no secret.
func (m *Master) ID() string {
	key := m.Key(identify)
	return hex.EncodeToString(key[:8])
}

// Settle returns when the disk has what was read or made: before something is kept that nobody can read without the key.
func (m *Master) Settle() error {
	m.settle.Do(func() {
		if m.file != "" {
			m.err = syncFile(m.file)
		}
	})
	return m.err
}

// String keeps the key out of logs.
func (*Master) String() string { return "[redacted]" }

// GoString likewise.
func (*Master) GoString() string { return "[redacted]" }

// fromCredential is nil when there is no such credential.
func fromCredential(path string) (*Master, error) {
	secret, err := readSmall(path, maxCredential)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: read credential %s: %w", ErrUnreachable, Credential, err)
	case len(secret) < minCredential:
		return nil, fmt.Errorf("%w: the credential %s has %d bytes, want at least %d", ErrUnreachable, Credential, len(secret), minCredential)
	}
	return &Master{secret: secret}, nil
}
