package auth

import (
	"testing"
	"time"
)

// The digest of two key files differs if a key, its rights or its expiry differs. Order and comments do not matter.
func TestDigest(t *testing.T) {
	sum := func(s string) (text string) {
		for range 64 {
			text += s
		}
		return text
	}
	base := "a: {sha256: " + sum("1") + ", roles: [x], created: 2026-01-01T00:00:00Z}\nb: {sha256: " + sum("2") + "}\n"
	of := func(text string) string {
		t.Helper()
		keys, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return digest(keys)
	}
	for text, same := range map[string]bool{
		base + "# comment\n": true,
		"b: {sha256: " + sum("2") + "}\na: {sha256: " + sum("1") + ", roles: [x]}\n": true,
		"":                                false,
		"b: {sha256: " + sum("2") + "}\n": false,
		"a: {sha256: " + sum("3") + ", roles: [x]}\nb: {sha256: " + sum("2") + "}\n":                false,
		"a: {sha256: " + sum("1") + ", roles: [x, y]}\nb: {sha256: " + sum("2") + "}\n":             false,
		"a: {sha256: " + sum("1") + ", roles: [x], projects: [p]}\nb: {sha256: " + sum("2") + "}\n": false,
		"a: {sha256: " + sum("1") + ", roles: [x]}\nc: {sha256: " + sum("2") + "}\n":                false,
	} {
		if (of(text) == of(base)) != same {
			t.Errorf("same digest as the base: %v, want %v:\n%s", !same, same, text)
		}
	}
	later := []Key{{Name: "a", Expires: time.Unix(1, 0)}}
	if digest(later) == digest([]Key{{Name: "a"}}) || digest(nil) == "" {
		t.Error("the expiry has no effect, or no keys have no digest")
	}
}
