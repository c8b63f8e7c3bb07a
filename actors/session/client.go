package session

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// client is what is known of the client, and the state of its handshake.
type client struct {
	path        string // the endpoint the session was opened on; requests on other paths are refused
	initialized bool   // initialize was answered
	ready       bool   // notifications/initialized or a request came after initialize: the client may be notified

	version      string // negotiated
	capabilities []byte // raw JSON, as declared
	can          message.CapabilitySet
	extras       message.Extras
	info         []byte          // clientInfo, raw JSON
	name         string          // name and version, for logs and reports
	asCaller     *message.Caller // the client as its requests describe it; nil = something has changed, so it must be built again

	earlyInitialize *downstream.Exchange // an initialize that waits for the catalog or for servers; nil = none
	awaitedServers  int                  // servers that initialize waits for

	level         protocol.Level                  // log lines below it are dropped; LevelNone = the client has set no level, so none is dropped
	pendingLevels map[uint64]*downstream.Exchange // logging/setLevel requests that wait for the gateway, by number
}

// caller returns the client as its requests describe it. All its requests share the value until it changes.
func (s *state) caller() *message.Caller {
	c := &s.client
	if c.asCaller == nil {
		c.asCaller = &message.Caller{Principal: message.PrincipalOf(s.principal.who), Epoch: s.principal.epoch, ClientKey: s.id, View: s.catalog.key, Version: c.version, Capabilities: c.capabilities, ClientInfo: c.info, Can: c.can, Extras: c.extras}
	}
	return c.asCaller
}
