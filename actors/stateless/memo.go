package stateless

import (
	"cmp"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/protocol/downstream"
)

// memo caches what was parsed last. Clients send the same values with every request.
type memo struct {
	capabilities string
	can          message.CapabilitySet // the parsed capabilities
	key          string                // the newest client key
	info         string                // clientInfo
	name         string                // the name in info
}

// clientKey returns the key under which a client's calls are counted: its principal, regardless of the number of
// clients and addresses that use the principal, or else the address and clientInfo from message.ClientOf.
func (m *memo) clientKey(x *downstream.Exchange, who *identity.Principal) string {
	if principal := message.PrincipalOf(who); principal != "" {
		return principal
	}
	address, info := message.ClientOf(x)
	if len(info) == 0 {
		return address
	}
	if last := m.key; len(last) == len(address)+len(info) && last[:len(address)] == address && last[len(address):] == string(info) {
		return last
	}
	m.key = address + string(info)
	return m.key
}

const (
	maxClientInfo = 4096 // bytes of clientInfo that are read
	unnamed       = "unnamed client"
)

// clientName returns the name and version in a request's clientInfo. The last result is cached.
func (m *memo) clientName(info []byte) string {
	if len(info) > maxClientInfo {
		return unnamed
	}
	if m.name == "" || string(info) != m.info {
		m.name = cmp.Or(admission.ClientName(info), unnamed)
		m.info = string(info)
	}
	return m.name
}

// canOf parses capabilities. The last result is cached, because clients send the same value with every request.
func (m *memo) canOf(capabilities []byte) message.CapabilitySet {
	if string(capabilities) != m.capabilities {
		m.capabilities, m.can = string(capabilities), message.CanOf(capabilities)
	}
	return m.can
}
