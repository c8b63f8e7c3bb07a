package namespace

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	defaultNameLength = 64 // MCP clients warn about longer names
	hashLength        = 6  // base32 characters: 30 bits
)

// OwnServer is the name of the server that provides the gateway's own tools.
const OwnServer = "goblin"

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// shortHash returns a hash of seed as six lower-case base32 characters.
func shortHash(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return lowerBase32.EncodeToString(sum[:4])[:hashLength]
}

// IsSlug reports whether name is a valid server name: [a-z0-9][a-z0-9-]*.
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

// Slug turns any text into a server name. It returns a valid server name unchanged. Otherwise it converts letters to
// lower case, replaces each run of other characters with one hyphen, and omits hyphens at the ends. If nothing remains,
// the result is "s-" and a hash of the text.
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

// PublicName returns the name that clients see: prefix, sep and name, or only name if prefix is empty. Characters
// outside [A-Za-z0-9_-] become _. A name of more than limit characters (0 means 64) is cut. It then ends in _ and a
// hash of the full name, as does an empty name.
func PublicName(prefix, sep, name string, limit int) string {
	whole := name
	if prefix != "" {
		whole = prefix + sep + name
	}
	public := sanitize(whole)
	if limit <= 0 {
		limit = defaultNameLength
	}
	if len(public) > limit || public == "" {
		return WithSuffix(public, whole, limit)
	}
	return public
}

// WithSuffix makes name unique by appending _ and six characters of a hash of seed. It cuts name so that the result
// has at most limit characters (0 means 64). If limit is less than 8, the result is only the hash, cut to limit.
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

// sanitize replaces each character outside [A-Za-z0-9_-] with _.
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}
