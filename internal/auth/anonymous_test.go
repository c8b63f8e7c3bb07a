package auth

import (
	"testing"

	"goblin-actor/internal/identity"
)

// Without a key file, clients without credentials get the local principal with the rights that the policy gives it.
func TestUnauthenticatedPrincipal(t *testing.T) {
	d := newTestGate(t)
	limited := Settings{
		Rights: func(_ []string, _ string, local bool) string { return map[bool]string{true: "l", false: "k"}[local] },
		Admin: func(rights string, local bool) identity.Admin {
			if rights == "l" && local {
				return identity.AdminView
			}
			return identity.AdminNone
		},
	}
	for _, c := range []struct {
		name string
		s    Settings
		want *identity.Principal
	}{
		{"nothing", Settings{}, identity.Local},
		{"a policy", limited, &identity.Principal{ID: identity.LocalID, Rights: "l", Admin: identity.AdminView}},
	} {
		if err := d.Configure(c.s); err != nil {
			t.Fatal(err)
		}
		if got := d.Anonymous(); got == nil || got.ID != c.want.ID || got.Rights != c.want.Rights || got.Admin != c.want.Admin {
			t.Errorf("Anonymous with settings %q: got %+v, want %+v", c.name, got, c.want)
		}
	}
	d.issue(Key{Name: "a"})
	d.configure(limited)
	if got := d.Anonymous(); got != nil {
		t.Errorf("Anonymous with a key file: got %+v, want nil", got)
	}
}
