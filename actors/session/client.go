package session

import (
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// client is what the client has said of itself, and where its handshake stands.
type client struct {
	path        string // the endpoint the session was opened on; requests on other paths are refused
	initialized bool   // initialize was answered
	ready       bool   // notifications/initialized or a request came after initialize: the client may be notified

	version      string // negotiated
	capabilities []byte // raw JSON, as declared
	can          message.CapabilitySet
	extras       message.Extras
	info         []byte          // clientInfo, raw JSON
	name         string          // name and version, for people
	asCaller     *message.Caller // the client as its requests name it; nil = something has changed, so it has to be created again

	earlyInitialize *downstream.Exchange // an initialize that waits for the catalog or for servers; nil = none
	awaitedServers  int                  // servers that initialize waits for

	level         protocol.Level                  // log lines below it are dropped; LevelNone = none are
	pendingLevels map[uint64]*downstream.Exchange // logging/setLevel requests that wait for the gateway, by number
}

// caller returns the client as its requests name it. All its requests share the value until something of it changes.
func (s *state) caller() *message.Caller {
	c := &s.client
	if c.asCaller == nil {
		c.asCaller = &message.Caller{Principal: message.PrincipalOf(s.principal.who), Epoch: s.principal.epoch, ClientKey: s.id, View: s.catalog.key, Version: c.version, Capabilities: c.capabilities, ClientInfo: c.info, Can: c.can, Extras: c.extras}
	}
	return c.asCaller
}
