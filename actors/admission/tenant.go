package admission

import (
	"crypto/sha256"
	"net/textproto"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// TenantOf returns the owner of the connections to a server that a request uses; nil = they are shared. Without a request, x is nil.
func TenantOf(rules *config.Server, x *downstream.Exchange, caller *message.Caller) *message.Tenant {
	if !rules.Isolates() {
		return nil
	}
	t := message.Tenant{Epoch: caller.Epoch, Level: caller.LogLevel, Isolation: rules.Isolation, Forwarded: rules.ForwardHeaders, Hop: caller.Hop}
	switch rules.Isolation {
	case "session":
		t.Key, t.Client, t.Who = "session "+caller.ClientKey, caller.ClientKey, caller.Principal
	case "principal":
		t.Key, t.Who = "principal "+caller.Principal, caller.Principal
	}
	if t.Lane = rules.LaneOf(laneOf(caller)); t.Lane != "" && rules.Isolation != "principal" {
		t.Key += " login " + t.Lane
	}
	if x != nil {
		t.Headers = forwarded(rules.ForwardHeaders, textproto.MIMEHeader(x.Origin.Forwarded))
	}
	if len(t.Headers) > 0 {
		t.Key += " headers " + hashOf(rules.ForwardHeaders, t.Headers)
	}
	if t.Key == "" {
		return nil // no header is forwarded, so the shared connections will do
	}
	return &t
}

// laneOf returns the principal whose logins a client's calls use.
func laneOf(caller *message.Caller) string {
	if caller.Principal == "" {
		return identity.LocalID // not authenticated
	}
	return caller.Principal
}

// SharesOf returns a string that identifies the settings which determine the clients that share connections. It is ""
// if all clients share them, or all clients with equal capabilities. The callers need not distinguish these two.
func SharesOf(rules *config.Server) string {
	if !rules.Isolates() {
		return ""
	}
	return rules.Isolation + " " + rules.Auth.As + " " + hashOf(rules.ForwardHeaders, nil)
}

// forwarded returns the headers of a request that are forwarded to a server. Missing headers are left out.
func forwarded(rules []config.ForwardHeader, kept textproto.MIMEHeader) map[string]string {
	var headers map[string]string
	for _, rule := range rules {
		if value := kept.Get(rule.From); value != "" {
			if headers == nil {
				headers = make(map[string]string, len(rules))
			}
			headers[textproto.CanonicalMIMEHeaderKey(rule.To)] = rule.Prefix + value
		}
	}
	return headers
}

// hashOf returns a hash of the forwarding rules and header values, so that these need not be stored. After a reload with other rules,
// no request matches a connection made under the old ones.
func hashOf(rules []config.ForwardHeader, headers map[string]string) string {
	h := sha256.New()
	for _, rule := range rules {
		value, ok := headers[textproto.CanonicalMIMEHeaderKey(rule.To)]
		for _, text := range []string{rule.From, rule.To, rule.Prefix, value} {
			sum := sha256.Sum256([]byte(text))
			h.Write(sum[:])
		}
		sent := byte(0)
		if ok {
			sent = 1
		}
		h.Write([]byte{sent})
	}
	return string(h.Sum(nil))
}
