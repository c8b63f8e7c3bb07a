package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// digest returns a digest of the keys, to compare the key files of several gateways. It does not depend on the order of the
// keys or on when they were created, and reveals nothing about the keys.
func digest(keys []Key) string {
	lines := make([]string, len(keys))
	for i := range keys {
		k := &keys[i]
		var expires int64
		if !k.Expires.IsZero() {
			expires = k.Expires.Unix()
		}
		lines[i] = fmt.Sprintf("%q %x %q %q %v %d\n", k.Name, k.Sum, k.Roles, k.Projects, k.Projects == nil, expires)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:8])
}
