package auth

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Digest returns a digest of the keys, to compare the key files of several gateways. It does not depend on the order of the keys or on when they
// were created, and reveals nothing about the keys.
func Digest(keys []Key) string {
	sorted := slices.SortedFunc(slices.Values(keys), func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, k := range sorted {
		var expires int64
		if !k.Expires.IsZero() {
			expires = k.Expires.Unix()
		}
		fmt.Fprintf(h, "%q %x %q %q %d\n", k.Name, k.Sum, k.Roles, k.Projects, expires)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
