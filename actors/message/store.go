package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/audit"
	"goblin-actor/protocol"
)

// KnownEra is a server's protocol era and when it was determined.
type KnownEra struct {
	Era protocol.Era
	At  time.Time
}

// SealingKey seals the state that clients carry for the gateway (requestState). It never leaves the gateway and is never
// logged.
type SealingKey [32]byte

// String keeps the key out of logs.
func (SealingKey) String() string { return "[redacted]" }

// GoString keeps the key out of logs.
func (SealingKey) GoString() string { return "[redacted]" }

// MarshalText keeps the key out of JSON.
func (SealingKey) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// KnownCatalog is what a server offered when it was last listed. Clients see it until the server is listed again. It is
// immutable.
type KnownCatalog struct {
	Info  *ServerInfo
	Lists [protocol.ItemKinds]KnownList
	At    time.Time // when the server was listed
}

// KnownList is one list of a KnownCatalog.
type KnownList struct {
	Items  [][]byte // raw JSON objects, in the server's order
	Silent bool     // the server does not announce changes to this list
}

// StateLoaded reports the content of the state file to the gateway. It is sent once, before anything is stored.
type StateLoaded struct {
	Key  SealingKey
	Eras map[string]KnownEra // by replica identity; immutable

	Catalogs map[string]*KnownCatalog // by server identity; immutable

	Tokens map[string]Token // by the keys of RememberToken; the receiver must not share a token between actors
	Audit  audit.Mark       // newest signed line of the audit log; zero = unknown
}

func (StateLoaded) Class() kernel.Class { return kernel.Urgent }

// RememberEra stores the era of the server with that identity. protocol.EraUnknown removes it.
type RememberEra struct {
	Server string
	Known  KnownEra
}

func (RememberEra) Class() kernel.Class { return kernel.Outcome }

// RememberCatalog stores what the server with that identity offers. The gateway passes it on to the store and keeps it
// for the server's next pool.
type RememberCatalog struct {
	Server string
	Known  *KnownCatalog
}

func (RememberCatalog) Class() kernel.Class { return kernel.Outcome }

// RememberAudit stores the newest signed line of the audit log. If the log ends before that line, lines were removed.
type RememberAudit struct{ Mark audit.Mark }

func (RememberAudit) Class() kernel.Class { return kernel.Outcome }
