package audit

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Keys sign checkpoints and compute the HMACs of arguments.
type Keys struct {
	signKey ed25519.PrivateKey
	public  ed25519.PublicKey
	hmacKey []byte
}

// NewKeys derives the keys from a secret that is used for nothing else. Equal secrets give equal keys.
func NewKeys(secret [32]byte) *Keys {
	sign := ed25519.NewKeyFromSeed(derive(secret, "goblin-actor audit: signature"))
	return &Keys{sign, sign.Public().(ed25519.PublicKey), derive(secret, "goblin-actor audit: arguments")}
}

// sharedKey makes the HMACs of arguments on all nodes of a cluster.
type sharedKey struct {
	key [32]byte
	id  string // identifies the key in the log without revealing it
}

func newSharedKey(key [32]byte) *sharedKey {
	return &sharedKey{key, hex.EncodeToString(derive(key, "goblin-actor audit: id of the shared key")[:4])}
}

func derive(secret [32]byte, what string) []byte {
	key, err := hkdf.Expand(sha256.New, secret[:], what, 32)
	if err != nil {
		panic(err) // impossible: the length is valid
	}
	return key
}

// Public returns the key that verifies signatures.
func (k *Keys) Public() ed25519.PublicKey { return k.public }

// String keeps the keys out of logs.
func (*Keys) String() string { return "[redacted]" }

// GoString also keeps the keys out of logs.
func (*Keys) GoString() string { return "[redacted]" }

// KeyText returns a public key in base64, as files store it and users see it.
func KeyText(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// ParseNodeKeys parses the public keys of a cluster's nodes: one a line, as the node's name and the key, separated by spaces.
// A key without a name has the name "" in the result. It skips empty lines and those that start with #.
func ParseNodeKeys(text string) (map[string]ed25519.PublicKey, error) {
	keys := map[string]ed25519.PublicKey{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		node := strings.Join(fields[:len(fields)-1], " ")
		if _, twice := keys[node]; twice {
			return nil, fmt.Errorf("there are two keys for node %.60q", node)
		}
		key, err := ParseKey(fields[len(fields)-1])
		if err != nil {
			return nil, err
		}
		keys[node] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("no key found")
	}
	return keys, nil
}

// ParseKey parses a public key in the form of KeyText. It skips surrounding space and lines that start with #.
func ParseKey(text string) (ed25519.PublicKey, error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("%.60q is not a public key; expected the 44 characters that goblin-actor audit verify --print-key prints", line)
		}
		return raw, nil
	}
	return nil, errors.New("no key found")
}
