package auth

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
)

// A node finds the principal of a request that another node passes on by its holder. An unknown holder is refused like a
// revoked key. Nothing is counted, whatever the limits are.
func TestHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestGate(t)
		d.issue(Key{Name: "ann", Roles: []string{"dev"}})
		d.issue(Key{Name: "bob", Expires: time.Now().Add(time.Hour)})
		d.configure(Settings{MaxCalls: 1, MaxStreams: 1, Rights: func(roles []string, _ string, _ bool) string { return strings.Join(roles, "+") }})
		holderOf := func(id string) string {
			for _, u := range d.Users() {
				if u.Who.ID == id {
					return identity.HolderOf(u.Who)
				}
			}
			t.Fatal(id)
			return ""
		}
		ann, bob := holderOf("key:ann"), holderOf("key:bob")
		for range 5 {
			if who, refusal := d.Holder(ann); refusal != nil || who.ID != "key:ann" || who.Rights != "dev" {
				t.Fatalf("%+v, %+v", who, refusal)
			}
		}
		for _, holder := range []string{"", "local", "key:ann", ann + "0", ann[:len(ann)-1] + "z", strings.ToUpper(ann)} {
			if who, refusal := d.Holder(holder); who != nil || refusal != refusedInvalid {
				t.Errorf("%q: %+v, %+v", holder, who, refusal)
			}
		}
		if log := d.logged(); !strings.Contains(log, "does not have that key") || len(d.denied) != 0 {
			t.Errorf("%s\n%+v", log, d.denied)
		}
		if who, refusal := d.Holder(bob); who == nil || refusal != nil {
			t.Errorf("before its expiry: %+v", refusal)
		}
		time.Sleep(time.Hour)
		if who, refusal := d.Holder(bob); who != nil || refusal != refusedExpired {
			t.Errorf("after its expiry: %+v, %+v", who, refusal)
		}
		if err := Revoke(d.path, "ann"); err != nil {
			t.Fatal(err)
		}
		d.configure(Settings{})
		if who, refusal := d.Holder(ann); who != nil || refusal != refusedInvalid {
			t.Errorf("revoked: %+v, %+v", who, refusal)
		}
	})
}

// Without authentication there is only the local principal.
func TestHolderWithoutKeys(t *testing.T) {
	g := NewGate(Options{})
	if who, refusal := g.Holder(identity.LocalID); refusal != nil || who.ID != identity.LocalID {
		t.Errorf("%+v, %+v", who, refusal)
	}
	if who, refusal := g.Holder(identity.Held("key:ann", 1)); who != nil || refusal != refusedInvalid {
		t.Errorf("%+v, %+v", who, refusal)
	}
}
