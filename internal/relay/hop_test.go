package relay

import (
	"strings"
	"testing"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// oneKey knows one key.
type oneKey struct{}

func (oneKey) Holder(holder string) (*identity.Principal, *downstream.Refusal) {
	if holder == "key:ann@0000000000000001" {
		return &identity.Principal{ID: "key:ann", Via: identity.ViaKey, Holder: holder}, nil
	}
	return nil, &downstream.Refusal{Status: 401}
}

// The principal of a request for a server of this node is the node that sends it. The request's headers name the client on whose
// behalf it is sent.
func TestHopsSayForWhomTheyAre(t *testing.T) {
	const hop, ann, bob, key = "Goblin-Node-Hop: a", "Goblin-Node-Holder: key:ann@0000000000000001", "Goblin-Node-Holder: key:bob@0000000000000001", "Goblin-Node-Key: k"
	for name, c := range map[string]struct {
		headers     []string
		refused     int
		who, client string
	}{
		"of the node":        {[]string{hop}, 0, "", ""},
		"of a client":        {[]string{hop, key}, 0, "", "k"},
		"of a principal":     {[]string{hop, ann, key}, 0, "key:ann@0000000000000001", "k"},
		"of an unknown key":  {[]string{hop, bob, key}, 421, "", ""},
		"with two holders":   {[]string{hop, ann, bob}, 400, "", ""},
		"with two clients":   {[]string{hop, key, key}, 400, "", ""},
		"of two nodes":       {[]string{hop, hop}, 400, "", ""},
		"relayed":            {[]string{ann}, 0, "", ""},
		"relayed, no holder": {[]string{key}, 400, "", ""},
	} {
		got := admission{oneKey{}}.Admit(downstream.NewRequest([]byte(strings.Join(c.headers, "\r\n") + "\r\n")))
		status := 0
		if got.Refusal != nil {
			status = got.Refusal.Status
		}
		if status != c.refused {
			t.Errorf("%s: status %d, want %d", name, status, c.refused)
		}
		behalf := got.Principal.Behalf()
		if isHop := strings.HasPrefix(name, "of ") && status == 0; isHop != (behalf != nil) {
			t.Errorf("%s: on behalf of %v", name, behalf)
		}
		if behalf == nil {
			continue
		}
		if !identity.Same(got.Principal, identity.Node) || behalf.Client != c.client || c.who == "" != (behalf.Who == nil) || c.who != "" && identity.HolderOf(behalf.Who) != c.who {
			t.Errorf("%s: %+v of %+v, want %q and %q", name, behalf, got.Principal, c.who, c.client)
		}
	}
}
