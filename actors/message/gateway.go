package message

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// Reload applies a new configuration. Only what differs is changed. Done, which may be nil, is closed when the
// configuration is in force and clients see it, or when the gateway stops.
type Reload struct {
	Config *config.Config
	Done   chan<- struct{}
}

// Class implements kernel.Classed. A reload must not be lost, and its sender waits before it sends the next.
func (Reload) Class() kernel.Class { return kernel.Outcome }

// Abandon closes Done.
func (r Reload) Abandon(kernel.Reason) {
	if r.Done != nil {
		close(r.Done)
	}
}

// AwaitPublished requests that Done be closed when clients see everything reported to the registry so far, or when the gateway
// stops.
type AwaitPublished struct{ Done chan<- struct{} }

func (AwaitPublished) Class() kernel.Class { return kernel.Outcome }

// Abandon closes Done.
func (m AwaitPublished) Abandon(kernel.Reason) { close(m.Done) }

// ReloadFailed reports that a newer configuration was rejected, for the status.
type ReloadFailed struct{ Reason string }

func (ReloadFailed) Class() kernel.Class { return kernel.State }

// Key implements kernel.Keyed: only the newest failure matters.
func (ReloadFailed) Key() any { return ReloadFailed{} }

// Listening reports the addresses the gateway listens on, for the status.
type Listening struct {
	Addresses []string
	TLS       bool // the listeners use TLS
}

func (Listening) Class() kernel.Class { return kernel.Outcome }

// DrainAll makes the gateway refuse new sessions, wait for the running calls, and then close Done.
type DrainAll struct{ Done chan<- struct{} }

func (DrainAll) Class() kernel.Class { return kernel.Urgent }

// SetSessionLevel reports the log level a session has set; LevelNone removes it. If Seq is not 0, the gateway answers
// with one SetSessionLevelResult.
type SetSessionLevel struct {
	Session kernel.Reference
	Level   protocol.Level
	Seq     uint64 // 0 = no answer
}

func (SetSessionLevel) Class() kernel.Class { return kernel.Outcome }

// Abandon answers the session's request if the gateway cannot handle it, so that the session does not wait forever.
func (m SetSessionLevel) Abandon(kernel.Reason) {
	if m.Seq != 0 {
		m.Session.Tell(SetSessionLevelResult{m.Seq})
	}
}

// SetSessionLevelResult answers SetSessionLevel. By then, the level has been sent to the servers' pools, so it takes
// effect before any later call of the session.
type SetSessionLevelResult struct{ Seq uint64 }

func (SetSessionLevelResult) Class() kernel.Class { return kernel.Outcome }
