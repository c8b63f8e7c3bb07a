package admission

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/downstream"
)

// The owner of a connection depends on the server's configuration, the client and the request's headers.
func TestTenants(t *testing.T) {
	tenant := func(isolation, client string, rules []config.ForwardHeader, headers ...string) *message.Tenant {
		x := &downstream.Exchange{Origin: downstream.Origin{Forwarded: http.Header{}}}
		for i := 0; i < len(headers); i += 2 {
			x.Origin.Forwarded.Set(headers[i], headers[i+1])
		}
		return TenantOf(&config.Server{Isolation: isolation, ForwardHeaders: rules}, x, &message.Caller{ClientKey: client})
	}
	token := []config.ForwardHeader{{From: "x-token", To: "authorization", Prefix: "Bearer "}, {From: "X-Other", To: "X-Other"}}
	key := func(of *message.Tenant) string { return of.KeyOf() }
	for name, of := range map[string]*message.Tenant{
		"shared": tenant("shared", "a", nil), "class": tenant("class", "a", nil), "leased": tenant("leased", "a", nil),
		"no header": tenant("class", "a", token), "another header": tenant("class", "a", nil, "X-Token", "1"),
	} {
		if of != nil {
			t.Errorf("%s: it has connections of its own", name)
		}
	}
	same := [][2]*message.Tenant{
		{tenant("session", "a", nil), tenant("session", "a", nil)},
		{tenant("principal", "a", nil), tenant("principal", "b", nil)}, // both are unauthenticated
		{tenant("class", "a", token, "X-Token", "1"), tenant("class", "b", token, "x-token", "1")},
	}
	for i, c := range same {
		if c[0] == nil || key(c[0]) != key(c[1]) {
			t.Errorf("pair %d share no connections", i)
		}
	}
	other := []*message.Tenant{
		nil, tenant("session", "a", nil), tenant("session", "b", nil), tenant("principal", "a", nil),
		tenant("class", "a", token, "X-Token", "1"), tenant("class", "a", token, "X-Token", "2"), tenant("class", "a", token, "X-Other", "1"),
		tenant("class", "a", token, "X-Token", "1", "X-Other", "1"), tenant("session", "a", token, "X-Token", "1"), tenant("session", "b", token, "X-Token", "1"),
	}
	for i := range other {
		for j := range i {
			if key(other[i]) == key(other[j]) {
				t.Errorf("%d and %d share connections", i, j)
			}
		}
	}
	swapped := []config.ForwardHeader{{From: "X-Other", To: "Authorization"}, {From: "X-Token", To: "X-Other"}}
	if a, b := tenant("class", "a", token, "X-Token", "1", "X-Other", "2"), tenant("class", "b", swapped, "X-Token", "2", "X-Other", "1"); key(a) == key(b) {
		t.Error("two clients share connections when the rules change between them")
	}
	of := tenant("class", "a", token, "X-Token", "s3cret")
	if len(of.Headers) != 1 || of.Headers["Authorization"] != "Bearer s3cret" {
		t.Errorf("%d headers are sent", len(of.Headers))
	}
	if text := fmt.Sprintf("%v %+v %#v %s %q", of, of, of, of, key(of)); strings.Contains(text, "s3cret") {
		t.Errorf("it is printed as %s", text)
	}
}

// Requests to a server with shared connections allocate nothing for tenants.
func TestNoTenantDoesNotAllocate(t *testing.T) {
	x, rules, caller := &downstream.Exchange{}, &config.Server{Isolation: "class"}, &message.Caller{ClientKey: "a"}
	if n := testing.AllocsPerRun(100, func() {
		if TenantOf(rules, x, caller) != nil {
			t.Fatal("it has connections of its own")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
