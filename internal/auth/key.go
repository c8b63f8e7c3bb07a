package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// An API key is gba_, 256 random bits, and a checksum of the preceding characters. The checksum lets secret scanners
// recognize leaked keys and detects truncated copies:
//
//	gba_ 43 characters of base64url · 6 of CRC-32
const (
	keyPrefix    = "gba_"
	secretLength = len(keyPrefix) + 43
	keyLength    = secretLength + 6
)

// Sum is the SHA-256 of a key. The key itself is never stored.
type Sum [sha256.Size]byte

// NewKey returns a new random key and its sum.
func NewKey() (key string, sum Sum) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand aborts the program instead
	secret := keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	check := checkOf([]byte(secret))
	key = secret + string(check[:])
	return key, sha256.Sum256([]byte(key))
}

// checkOf returns the checksum characters for the text before them.
func checkOf(secret []byte) (check [keyLength - secretLength]byte) {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(secret))
	base64.RawURLEncoding.Encode(check[:], sum[:])
	return check
}

// sumOf returns the sum of a key. ok is false if the text cannot be a key: it is truncated or mistyped.
func sumOf(key []byte) (sum Sum, ok bool) {
	if len(key) < secretLength || string(key[:len(keyPrefix)]) != keyPrefix {
		return sum, false
	}
	check := checkOf(key[:secretLength])
	if len(key) != keyLength || string(key[secretLength:]) != string(check[:]) {
		return sum, false
	}
	var whole [keyLength]byte
	copy(whole[copy(whole[:], key[:secretLength]):], check[:])
	return sha256.Sum256(whole[:]), true
}

// IsKey reports whether text has the form of a key, including a correct checksum.
func IsKey(text string) bool {
	_, ok := sumOf([]byte(text))
	return ok
}

// LooksLikeKey reports whether text has the prefix of a key, even if it is truncated or mistyped.
func LooksLikeKey(text string) bool { return strings.HasPrefix(text, keyPrefix) }
