package cluster

import (
	"bytes"
	"strings"
	"testing"
)

// A list of secrets that cannot be used is refused, and the error contains no secret.
func TestBadSecrets(t *testing.T) {
	long := strings.Repeat("s", MinSecret)
	for name, c := range map[string]struct {
		values []string
		want   string
	}{
		"none":  {nil, "needs a secret"},
		"short": {[]string{long, long[1:]}, "secret 2 has 31 bytes; at least 32 are needed"},
		"twice": {[]string{"a" + long, long, "a" + long}, "secret 3 is the same as secret 1"},
		"many":  {make([]string, MaxSecrets+1), "more than 8 secrets"},
	} {
		_, err := NewSecrets(c.values)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sss") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	created := NewSecret()
	if _, err := NewSecrets([]string{created, NewSecret()}); err != nil || len(created) != 43 {
		t.Errorf("%d characters, %v", len(created), err)
	}
}

// Each purpose and each incarnation has its own key, and every node derives the same one.
func TestDerivedKeys(t *testing.T) {
	a, b := &(*secretsOf(t, "ab").list.Load())[0], &(*secretsOf(t, "ab").list.Load())[1]
	seen := map[string]string{}
	for _, k := range []*secret{a, b} {
		for _, purpose := range []string{"session", "authority"} {
			for _, incarnation := range []string{"", home, NewIncarnation()} {
				name := string(k.id[:]) + purpose + incarnation
				key := string(k.key(purpose, incarnation))
				if of, ok := seen[key]; ok {
					t.Errorf("%q and %q have the same key", of, name)
				}
				seen[key] = name
			}
		}
	}
	if again := &(*secretsOf(t, "a").list.Load())[0]; !bytes.Equal(again.key("session", home), a.key("session", home)) || again.id != a.id {
		t.Error("another node derives other keys")
	}
}

// All nodes have the same keys for the HMACs of arguments, in the order of the secrets. They are used for nothing else.
func TestArgumentsKeys(t *testing.T) {
	before, after := secretsOf(t, "a").ArgumentsKeys(), secretsOf(t, "ba").ArgumentsKeys()
	if len(before) != 1 || len(after) != 2 || before[0] != after[1] || after[0] == after[1] {
		t.Errorf("%d and %d keys; want the same key for the same secret", len(before), len(after))
	}
	if after[0] == secretsOf(t, "ba").TaskKeys()[0] {
		t.Error("the key is also used for tasks")
	}
}

func TestIncarnations(t *testing.T) {
	a, b := NewIncarnation(), NewIncarnation()
	if a == b || !ValidIncarnation(a) || !ValidIncarnation(b) {
		t.Errorf("%q, %q", a, b)
	}
	for _, bad := range []string{"", "abcdefg", "abcdefg23", "Abcdefg2", "abcdefg1", "abcdefg-", "äbcdefg"} {
		if ValidIncarnation(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

// Replaced secrets count at once. If the new ones are invalid, the old ones stay.
func TestReplaceSecrets(t *testing.T) {
	s, f := secretsOf(t, "a"), facts()
	old, err := s.SealSession(home, &f)
	if err != nil {
		t.Fatal(err)
	}
	next := []string{"b" + strings.Repeat("x", MinSecret-1), "a" + strings.Repeat("x", MinSecret-1)}
	for _, c := range []struct {
		values       []string
		opens, fails bool
	}{{next, true, false}, {nil, true, true}, {[]string{"short"}, true, true}, {next[:1], false, false}} {
		if err := s.Replace(c.values); (err != nil) != c.fails {
			t.Errorf("%q: %v", c.values, err)
		}
		if _, _, err := s.OpenSession(old); (err == nil) != c.opens {
			t.Errorf("after %q, the id sealed with the first secret: %v", c.values, err)
		}
		if s.Names(old) != c.opens || s.Names("") || s.Names(old[:40]) {
			t.Errorf("after %q, the id names a known secret: %v", c.values, !c.opens)
		}
	}
}
