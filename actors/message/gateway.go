package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Reload puts a new configuration in force: only what differs is touched. Done, which may be nil, is closed when that is so and clients see it,
// or when the gateway is going.
type Reload struct {
	Config *config.Config
	Done   chan<- struct{}
}

// Class: a change that was lost would be in force only after the next one. Whoever sends them waits for each.
func (Reload) Class() kernel.Class { return kernel.Outcome }

// Abandon ends the wait for it.
func (r Reload) Abandon(kernel.Why) {
	if r.Done != nil {
		close(r.Done)
	}
}

// AwaitSeen has Done closed when clients see all that has been told the registry so far, or when the gateway is going.
type AwaitSeen struct{ Done chan<- struct{} }

func (AwaitSeen) Class() kernel.Class { return kernel.Outcome }

// Abandon ends the wait.
func (m AwaitSeen) Abandon(kernel.Why) { close(m.Done) }

// ReloadFailed tells the gateway, for people, that the configuration file could not be put in force.
type ReloadFailed struct{ Reason string }

func (ReloadFailed) Class() kernel.Class { return kernel.State }

// Key: the newest attempt counts.
func (ReloadFailed) Key() any { return ReloadFailed{} }

// Listening tells the gateway where it is reached, for people.
type Listening struct{ Addresses []string }

func (Listening) Class() kernel.Class { return kernel.Outcome }

// DrainAll says to take no new sessions, to let the running calls finish, and then to close Done.
type DrainAll struct{ Done chan<- struct{} }

func (DrainAll) Class() kernel.Class { return kernel.Urgent }

// WantLevel tells the gateway which log level a session has set; LevelNone = none any more. With Seq the answer is one LevelWanted.
type WantLevel struct {
	Session kernel.Reference
	Level   protocol.Level
	Seq     uint64 // 0 = nobody waits
}

func (WantLevel) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where the gateway is going.
func (m WantLevel) Abandon(kernel.Why) {
	if m.Seq != 0 {
		m.Session.Tell(LevelWanted{m.Seq})
	}
}

// LevelWanted answers WantLevel: the servers have been told, before any call that its session makes from now on.
type LevelWanted struct{ Seq uint64 }

func (LevelWanted) Class() kernel.Class { return kernel.Outcome }
