package namespace

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	defaultNameLength = 64 // MCP clients warn beyond it
	hashLength        = 6  // base32 characters: 30 bits
)

// OwnServer is the server whose tools are a gateway's own.
const OwnServer = "goblin"

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// shortHash returns six lower-case base32 characters that depend on all of seed.
func shortHash(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return lowerBase32.EncodeToString(sum[:4])[:hashLength]
}

// IsSlug reports whether name can be a server's name: [a-z0-9][a-z0-9-]*.
func IsSlug(name string) bool {
	if name == "" || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// Slug makes a server's name of any text: lower case, every run of other characters one hyphen.
// When nothing remains it is "s-" and a hash of the text.
func Slug(name string) string {
	if IsSlug(name) {
		return name
	}
	var b strings.Builder
	gap := false
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteByte(c)
	}
	if b.Len() == 0 {
		return "s-" + shortHash(name)
	}
	return b.String()
}

// PublicName returns the name clients see: prefix, separator, name (name alone when prefix is empty), other characters than
// [A-Za-z0-9_-] made _. What is longer than limit characters (0 = 64) is cut and ends in _ and a hash of the whole.
func PublicName(prefix, sep, name string, limit int) string {
	whole := name
	if prefix != "" {
		whole = prefix + sep + name
	}
	public := sanitise(whole)
	if limit <= 0 {
		limit = defaultNameLength
	}
	if len(public) > limit || public == "" {
		return WithSuffix(public, whole, limit)
	}
	return public
}

// WithSuffix tells name apart from an equal one: _ and six characters of a hash of seed are added, and name is cut so that
// all of it has at most limit characters (0 = 64).
func WithSuffix(name string, seed string, limit int) string {
	if limit <= 0 {
		limit = defaultNameLength
	}
	hash := shortHash(seed)
	room := limit - hashLength - 1
	if room < 1 {
		return hash[:min(limit, hashLength)]
	}
	return name[:min(len(name), room)] + "_" + hash
}

// sanitise makes every character outside [A-Za-z0-9_-] one _.
func sanitise(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}
