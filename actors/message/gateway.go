package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Reload puts a new configuration in force: only what differs is touched.
type Reload struct{ Config *config.Config }

// Listening tells the gateway where it is reached, for people.
type Listening struct{ Addresses []string }

func (Listening) Class() kernel.Class { return kernel.Outcome }

// DrainAll says to take no new sessions, to let the running calls finish, and then to close Done.
type DrainAll struct{ Done chan<- struct{} }

func (DrainAll) Class() kernel.Class { return kernel.Urgent }

// WantLevel tells the gateway which log level a session has set; LevelNone = none any more.
type WantLevel struct {
	Session kernel.Reference
	Level   protocol.Level
}

func (WantLevel) Class() kernel.Class { return kernel.Outcome }
