package cluster

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
)

// Limits of a list of secrets.
const (
	MinSecret  = 32 // bytes of a secret
	MaxSecrets = 8
)

// NewSecret returns a new random secret of 256 bits as text.
func NewSecret() string {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(secret[:])
}

// Secrets are the secrets of a cluster. They are safe for concurrent use.
type Secrets struct {
	list atomic.Pointer[[]secret] // never empty, and immutable; the first secret seals and signs
}

// secret is one secret and its public name.
type secret struct {
	value []byte
	id    secretID
}

// secretID names a secret in sealed texts. It is derived from the secret and does not reveal it.
type secretID [4]byte

// Errors of NewSecrets.
var (
	errNoSecret = errors.New("a cluster needs a secret")
	errTooMany  = fmt.Errorf("more than %d secrets", MaxSecrets)
)

// NewSecrets returns the secrets with these values. The error says which of them is wrong and why, and contains no
// secret.
func NewSecrets(values []string) (*Secrets, error) {
	s := &Secrets{}
	if err := s.Replace(values); err != nil {
		return nil, err
	}
	return s, nil
}

// Replace replaces the secrets. It returns the same errors as NewSecrets; after an error, the old secrets stay.
func (s *Secrets) Replace(values []string) error {
	switch {
	case len(values) == 0:
		return errNoSecret
	case len(values) > MaxSecrets:
		return errTooMany
	}
	var list []secret
	for i, value := range values {
		if len(value) < MinSecret {
			return fmt.Errorf("secret %d has %d bytes; at least %d are needed", i+1, len(value), MinSecret)
		}
		k := secret{value: []byte(value)}
		copy(k.id[:], k.key("secret id", ""))
		for j := range list {
			if list[j].id == k.id {
				return fmt.Errorf("secret %d is the same as secret %d", i+1, j+1)
			}
		}
		list = append(list, k)
	}
	s.list.Store(&list)
	return nil
}

// key derives the key of 32 bytes for a purpose. Each incarnation of a node seals with keys of its own, so two processes
// never use one key with the same nonce. Keys that all nodes share have the incarnation "".
func (k *secret) key(purpose, incarnation string) []byte {
	key, err := hkdf.Key(sha256.New, k.value, []byte("goblin-actor cluster"), purpose+"\x00"+incarnation, 32)
	if err != nil {
		panic("cluster: " + err.Error()) // only for invalid lengths, which are constants here
	}
	return key
}

// of returns the secret with that id, or nil.
func (s *Secrets) of(id secretID) *secret {
	list := *s.list.Load()
	for i := range list {
		if list[i].id == id {
			return &list[i]
		}
	}
	return nil
}

// StateKeys returns the keys with which a node seals requestStates: the first one seals, and all of them open.
func (s *Secrets) StateKeys(incarnation string) [][32]byte { return s.keys("state", incarnation) }

// TaskKeys returns the keys of the tags in task ids, which all nodes share: the first one makes tags, and all of them are
// accepted.
func (s *Secrets) TaskKeys() [][32]byte { return s.keys("tasks", "") }

// ArgumentsKeys returns the keys of the HMACs of arguments in audit logs, which all nodes share: the first one is used for
// new lines, and the others were used for lines written before a rotation.
func (s *Secrets) ArgumentsKeys() [][32]byte { return s.keys("arguments", "") }

func (s *Secrets) keys(purpose, incarnation string) [][32]byte {
	list := *s.list.Load()
	keys := make([][32]byte, len(list))
	for i := range list {
		keys[i] = [32]byte(list[i].key(purpose, incarnation))
	}
	return keys
}
