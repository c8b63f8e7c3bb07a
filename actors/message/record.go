package message

import (
	"errors"
	"strings"
	"time"

	"goblin-actor/actors/kernel"
)

// ErrRecorderGone is the reply to StartRecording if the recorder cannot handle it.
var ErrRecorderGone = errors.New("the recorder does not accept requests now; try again")

// StartRecording tells the recorder to record the messages of actors for a time. Actors that are being recorded already
// are recorded for that time from now on.
type StartRecording struct {
	Actors []string      // full names, without duplicates; with Server, the first is the server's pool
	For    time.Duration // positive
	Server string        // the server that the operator named; "" = an actor
	Actor  string        // the actor that the operator named, by its public name
	Reply  chan<- error  // capacity 1; nil = the recording has begun
}

// Abandon answers the operator with ErrRecorderGone if the message is not handled.
func (r StartRecording) Abandon(kernel.Reason) { r.Reply <- ErrRecorderGone }

// GetRecordings requests the recordings that are running or kept. They are ordered by the time of their start, and then by name.
type GetRecordings struct {
	Reply chan<- []Recording // capacity 1
}

// Class is Urgent, as for Inspect.
func (GetRecordings) Class() kernel.Class { return kernel.Urgent }

// Observation implements kernel.Observation.
func (GetRecordings) Observation() {}

// Abandon answers nil if the recorder cannot handle the request.
func (g GetRecordings) Abandon(kernel.Reason) { g.Reply <- nil }

// Recording is the recording of one actor.
type Recording struct {
	Actor    string // full name
	Began    time.Time
	Until    time.Time
	Ended    bool
	Recorder *kernel.Recorder
}

// Beginnings of the full names of actors.
const (
	underGateway = "gateway/"
	sessions     = "gateway/session/"
)

// ShortName returns the full name of an actor as it may be shown: only the first 8 characters of a session's id.
func ShortName(full string) string {
	if strings.HasPrefix(full, sessions) {
		return full[:min(len(full), len(sessions)+8)]
	}
	return full
}

// HolderOf returns the first part of the names of the calls that an actor holds, such as session/1ak3v7qd. It takes the actor's full name.
func HolderOf(full string) string { return strings.TrimPrefix(ShortName(full), underGateway) }
