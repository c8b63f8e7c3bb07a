package cluster

import (
	"strings"
	"testing"
)

// Sessions have different keys, which are not enough to use them. Malformed keys and ages are refused.
func TestEndedKeys(t *testing.T) {
	secrets := secretsOf(t, "a")
	seen := map[EndedKey]bool{}
	for range 10 {
		id, err := secrets.SealSession(home, &SessionFacts{Version: "2025-11-25", Path: "/mcp"})
		if err != nil {
			t.Fatal(err)
		}
		key, ok := EndedKeyOf(id)
		if !ok || seen[key] || !strings.HasPrefix(id[1:], string(key[:])) {
			t.Errorf("%s has the key %s", id, key)
		}
		seen[key] = true
	}
	for _, id := range []string{"", "2", "2" + strings.Repeat("A", 20), strings.Repeat("a", 60)} {
		if key, ok := EndedKeyOf(id); ok {
			t.Errorf("%q has the key %s", id, key)
		}
	}
	for _, e := range []EndedSession{
		{Key: "", Age: 1}, {Key: strings.Repeat("A", EndedKeyLength-1)}, {Key: strings.Repeat("A", EndedKeyLength-1) + "="},
		{Key: strings.Repeat("A", EndedKeyLength), Age: -1}, {Key: strings.Repeat("A", EndedKeyLength), Age: maxAge + 1},
	} {
		a := Answer{Revocations: Revocations{Cluster: "prod", From: home}, Ended: []EndedSession{e}}
		if _, err := ParseAnswer(a.Encode()); err == nil {
			t.Errorf("%+v is accepted", e)
		}
	}
}
