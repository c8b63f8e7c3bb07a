package identity

import "testing"

// A new key with the id of an earlier key is another holder. For display both have the same id.
func TestHolders(t *testing.T) {
	first, second := &Principal{ID: "key:ci", Holder: Held("key:ci", 1)}, &Principal{ID: "key:ci", Holder: Held("key:ci", 1<<63)}
	nameless := &Principal{ID: "key:ci"}
	for i, c := range []struct {
		a, b *Principal
		same bool
	}{{first, first, true}, {first, second, false}, {first, nameless, false}, {nameless, &Principal{ID: "key:ci"}, true}, {nil, Local, true}, {nil, nameless, false}} {
		if Same(c.a, c.b) != c.same || (HolderOf(c.a) == HolderOf(c.b)) != c.same {
			t.Errorf("case %d: Same is %v, want %v and equal holders accordingly", i, Same(c.a, c.b), c.same)
		}
	}
	for holder, id := range map[string]string{
		first.Holder: "key:ci", second.Holder: "key:ci", "key:ci": "key:ci", "local": "local", "": "",
		"@0123456789abcdef": "@0123456789abcdef", "https://x.test#a@example.com": "https://x.test#a@example.com", "key:ci@0123456789ABCDEF": "key:ci@0123456789ABCDEF",
	} {
		if got := IDIn(holder); got != id {
			t.Errorf("IDIn(%q): got %q, want %q", holder, got, id)
		}
	}
}
