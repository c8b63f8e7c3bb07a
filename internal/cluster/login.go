package cluster

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
)

// loginFormat is the first byte of a sealed login.
const loginFormat = 1

// ErrSealed is returned for a login that no secret of the cluster opens, or that was sealed for another place.
var ErrSealed = errors.New("the record of the login cannot be opened: it was sealed with another secret, or moved")

// loginHead is the size of what precedes the nonce: the format, the secret's id and the incarnation.
const loginHead = 1 + len(secretID{}) + IncarnationLength

// SealLogin seals a login for its place, the key of its record. The incarnation is that of this node.
func (s *Secrets) SealLogin(incarnation, place string, plain []byte) []byte {
	k := &(*s.list.Load())[0]
	head := append(append([]byte{loginFormat}, k.id[:]...), incarnation...)
	return k.loginAEAD(incarnation).Seal(head[:len(head):len(head)], nil, plain, loginAAD(head, place))
}

// OpenLogin opens a login that was sealed for the place, by any node. The error is ErrSealed.
func (s *Secrets) OpenLogin(place string, sealed []byte) ([]byte, error) {
	if len(sealed) < loginHead || sealed[0] != loginFormat {
		return nil, ErrSealed
	}
	head := sealed[:loginHead:loginHead]
	k, incarnation := s.of(secretID(head[1:])), string(head[1+len(secretID{}):])
	if k == nil || !ValidIncarnation(incarnation) {
		return nil, ErrSealed
	}
	plain, err := k.loginAEAD(incarnation).Open(nil, nil, sealed[loginHead:], loginAAD(head, place))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// SealedByFirst reports whether a login was sealed with the secret that seals now. It does not check the seal.
func (s *Secrets) SealedByFirst(sealed []byte) bool {
	return len(sealed) >= loginHead && secretID(sealed[1:]) == (*s.list.Load())[0].id
}

// Several reports whether there is more than one secret: the first one is new, or will be removed.
func (s *Secrets) Several() bool { return len(*s.list.Load()) > 1 }

// First returns the public name of the secret that seals now.
func (s *Secrets) First() string { return hex.EncodeToString((*s.list.Load())[0].id[:]) }

func loginAAD(head []byte, place string) []byte {
	return append(append([]byte("login\x00"), head...), place...)
}

func (k *secret) loginAEAD(incarnation string) cipher.AEAD {
	block, err := aes.NewCipher(k.key("login", incarnation))
	if err != nil {
		panic(err) // 32 bytes are always a valid key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES always works with GCM
	}
	return aead
}
