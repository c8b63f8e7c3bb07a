package seal

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// testNodes has a key for each pair of secret and incarnation. The secrets are single bytes.
type testNodes struct {
	incarnation string
	secrets     string
}

func (n testNodes) Current() string { return n.incarnation }

func (n testNodes) StateKeys(incarnation string) (keys [][32]byte) {
	for _, secret := range []byte(n.secrets) {
		keys = append(keys, [32]byte(append([]byte{secret}, (incarnation + strings.Repeat("-", 31))[:31]...)))
	}
	return keys
}

func (n testNodes) TaskKeys() [][32]byte { return n.StateKeys("tasks") }

// Every node that has the secret opens the states of every other node. A state says which node has sealed it, and that cannot be
// changed.
func TestSharedStates(t *testing.T) {
	a, b := NewShared(testNodes{"aaaa", "x"}), NewShared(testNodes{"bbbb", "yx"})
	text := mustSeal(t, a, testState())
	if NodeIn(text) != "aaaa" || a.Node() != "aaaa" || NodeIn("no mark") != "" || New(testKey).Node() != "" {
		t.Errorf("the state %s names node %q", text, NodeIn(text))
	}
	for _, s := range []*Sealer{a, b} {
		if got, err := s.Open(text, testNow); err != nil || !same(got, testState()) {
			t.Errorf("node %s: %+v, %v", s.Node(), got, err)
		}
	}
	_, rest, _ := strings.Cut(text, nodeMark)
	for _, forged := range []string{"bbbb." + rest, rest, "." + rest, text + "A", "aaaa.", strings.Repeat("a", 65) + "." + rest} {
		if _, err := b.Open(forged, testNow); err == nil {
			t.Errorf("%.20s… is accepted", forged)
		}
	}
	if _, err := a.Open(mustSeal(t, b, testState()), testNow); !errors.Is(err, ErrForeign) {
		t.Errorf("a state sealed with an unknown secret: %v", err)
	}
}

// Clocks of nodes differ: a state is valid for a little longer on the nodes that have not sealed it.
func TestExpiryOnOtherNodes(t *testing.T) {
	a, b := NewShared(testNodes{"aaaa", "x"}), NewShared(testNodes{"bbbb", "x"})
	v := testState()
	text := mustSeal(t, a, v)
	for _, c := range []struct {
		by   *Sealer
		at   time.Time
		want error
	}{
		{a, v.Expiry.Add(-time.Millisecond), nil}, {a, v.Expiry, ErrExpired},
		{b, v.Expiry.Add(clockGrace - time.Millisecond), nil}, {b, v.Expiry.Add(clockGrace), ErrExpired},
	} {
		if _, err := c.by.Open(text, c.at); !errors.Is(err, c.want) {
			t.Errorf("node %s at %v: %v, want %v", c.by.Node(), c.at, err, c.want)
		}
	}
}

// A task's tag is the same on all nodes, and tags made with an old secret are accepted while the secret is listed.
func TestSharedTaskTags(t *testing.T) {
	old, both, next := NewShared(testNodes{"aaaa", "x"}), NewShared(testNodes{"bbbb", "yx"}), NewShared(testNodes{"cccc", "y"})
	tag := old.TaskTag("anna", "files", "7")
	if both.TaskTag("anna", "files", "7") != next.TaskTag("anna", "files", "7") {
		t.Error("two nodes that seal with the same secret make different tags")
	}
	for _, c := range []struct {
		by                    *Sealer
		tag, principal, place string
		want                  bool
	}{
		{old, tag, "anna", "files", true}, {both, tag, "anna", "files", true}, {next, tag, "anna", "files", false},
		{both, tag, "mallory", "files", false}, {both, tag, "anna", "other", false}, {both, "", "anna", "files", false}, {both, tag[:21], "anna", "files", false},
	} {
		if got := c.by.IsTaskTag(c.tag, c.principal, c.place, "7"); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
