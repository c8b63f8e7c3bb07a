package message

import (
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/internal/audit"
	"goblin-actor/protocol"
)

// KnownEra is an era and when the server was last heard to speak it.
type KnownEra struct {
	Era protocol.Era
	At  time.Time
}

// SealingKey seals what clients carry for the gateway (requestState). It never leaves the gateway and is never logged.
type SealingKey [32]byte

// String keeps the key out of logs.
func (SealingKey) String() string { return "[redacted]" }

// GoString likewise.
func (SealingKey) GoString() string { return "[redacted]" }

// MarshalText likewise, where something is written as JSON.
func (SealingKey) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// KnownCatalog is what a server offered when it was last asked: what clients are shown until it is asked anew. Immutable.
type KnownCatalog struct {
	Info  *ServerInfo
	Lists [protocol.ItemKinds]KnownList
	At    time.Time // when it was asked
}

// KnownList is one list of a KnownCatalog.
type KnownList struct {
	Items  [][]byte // raw JSON objects in the server's order
	Silent bool     // nobody says when it changes
}

// StateLoaded tells the gateway what the state file holds. Told once in the store's life, before anything is remembered.
type StateLoaded struct {
	Key  SealingKey
	Eras map[string]KnownEra // by a replica's identity; immutable

	Catalogs map[string]*KnownCatalog // by a server's identity; immutable

	Tokens map[string]Token // by the keys of RememberToken; whoever it is told to gives nothing of it to two
	Audit  audit.Mark       // the newest signed line of the audit log; zero = none is known
}

func (StateLoaded) Class() kernel.Class { return kernel.Urgent }

// RememberEra notes the era of the server with that identity; protocol.EraUnknown forgets it.
type RememberEra struct {
	Server string
	Known  KnownEra
}

func (RememberEra) Class() kernel.Class { return kernel.Outcome }

// RememberCatalog notes what the server with that identity offers. The gateway passes it on to the store, and
// keeps it for a pool that it starts for the same server later.
type RememberCatalog struct {
	Server string
	Known  *KnownCatalog
}

func (RememberCatalog) Class() kernel.Class { return kernel.Outcome }

// RememberAudit notes the newest signed line of the audit log: what the file has lost later, it had.
type RememberAudit struct{ Mark audit.Mark }

func (RememberAudit) Class() kernel.Class { return kernel.Outcome }
