package audit

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Keys sign checkpoints and hide arguments.
type Keys struct {
	sign   ed25519.PrivateKey
	public ed25519.PublicKey
	hide   []byte
}

// NewKeys derives the keys from a secret that is theirs alone. The same secret gives the same keys.
func NewKeys(secret [32]byte) *Keys {
	sign := ed25519.NewKeyFromSeed(derive(secret, "goblin-actor audit: signature"))
	return &Keys{sign, sign.Public().(ed25519.PublicKey), derive(secret, "goblin-actor audit: arguments")}
}

func derive(secret [32]byte, what string) []byte {
	key, err := hkdf.Expand(sha256.New, secret[:], what, 32)
	if err != nil {
		panic(err) // only for lengths that nobody asks for
	}
	return key
}

// Public is what a signature is checked with.
func (k *Keys) Public() ed25519.PublicKey { return k.public }

// String keeps the keys out of logs.
func (*Keys) String() string { return "[redacted]" }

// GoString likewise.
func (*Keys) GoString() string { return "[redacted]" }

// KeyText is how people are shown a public key, and how files hold it.
func KeyText(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// ParseKey reads a public key as KeyText writes it. Space around it, and lines that begin with #, are not part of it.
func ParseKey(text string) (ed25519.PublicKey, error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("got %.60q, want the 44 characters that goblin-actor audit verify --print-key prints", line)
		}
		return raw, nil
	}
	return nil, errors.New("there is no key in it")
}
