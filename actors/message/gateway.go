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
func (r Reload) Abandon(kernel.Reason) {
	if r.Done != nil {
		close(r.Done)
	}
}

// AwaitPublished has Done closed when clients see all that has been told the registry so far, or when the gateway is going.
type AwaitPublished struct{ Done chan<- struct{} }

func (AwaitPublished) Class() kernel.Class { return kernel.Outcome }

// Abandon ends the wait.
func (m AwaitPublished) Abandon(kernel.Reason) { close(m.Done) }

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

// SetSessionLevel tells the gateway which log level a session has set; LevelNone = none any more. With Seq the answer is one SetSessionLevelResult.
type SetSessionLevel struct {
	Session kernel.Reference
	Level   protocol.Level
	Seq     uint64 // 0 = nobody waits
}

func (SetSessionLevel) Class() kernel.Class { return kernel.Outcome }

// Abandon answers where the gateway is going.
func (m SetSessionLevel) Abandon(kernel.Reason) {
	if m.Seq != 0 {
		m.Session.Tell(SetSessionLevelResult{m.Seq})
	}
}

// SetSessionLevelResult answers SetSessionLevel: the servers have been told, before any call that its session makes from now on.
type SetSessionLevelResult struct{ Seq uint64 }

func (SetSessionLevelResult) Class() kernel.Class { return kernel.Outcome }
