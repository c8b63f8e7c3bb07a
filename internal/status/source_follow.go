package status

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Want names something that a stream reports. See FollowOptions.
type Want string

// What a stream can report.
const (
	WantState    Want = "state"    // Snapshot without the rows below: the gateway, its servers and backends
	WantCalls    Want = "calls"    // Snapshot.Calls
	WantSessions Want = "sessions" // Snapshot.Sessions and Snapshot.Subscriptions
	WantActors   Want = "actors"   // Snapshot.Actors
	WantFinished Want = "finished" // calls that have ended
	WantLog      Want = "log"      // the log: see Events.After
	WantLines    Want = "lines"    // stderr and log lines of servers: see Events.Lines
	WantCatalog  Want = "catalog"  // changes to the catalog
	WantSecond   Want = "second"   // calls, errors and durations of each second and minute
)

// Wants lists everything that a stream can report.
var Wants = []Want{WantState, WantCalls, WantSessions, WantActors, WantFinished, WantLog, WantLines, WantCatalog, WantSecond}

// FollowOptions configures Source.Follow.
type FollowOptions struct {
	Want   []Want
	Server string        // finished and lines: of this server only; "" = of all servers
	Every  time.Duration // time between two rounds of reports; at least, and by default, 100 ms
	New    bool          // skip finished calls, log lines and catalog changes that were stored before
	Once   bool          // end after the complete state and the stored entries
	Last   string        // continue after the Notice with this ID; it takes precedence over New
}

// Notice is one report of a stream. Exactly one field or group of fields is set, besides ID. It is immutable.
type Notice struct {
	ID string // for FollowOptions.Last

	Hello     *Hello // the stream began
	Back      bool   // with Hello: the stream was lost before; unless Restarted, it continues where it ended
	Restarted bool   // with Back: another process answers, so everything known of the previous one is void

	Snapshot *Snapshot // the state, complete as far as wanted
	Delta    *Delta    // with Snapshot: how it differs from the previous one; nil = Snapshot does not continue the previous one

	Finished []FinishedCall
	Log      []Event
	Lines    []Event
	Catalog  []CatalogChange
	Missed   uint64 // with one of these four: how many were lost before the first of them

	Series []Series // of the gateway and each server, with the intervals that have ended since the last report; the first report has all stored ones

	Lost error // the gateway does not respond, or the connection is lost; Follow retries
}

// Hello describes the process at the other end of a stream.
type Hello struct {
	Boot    string `json:"boot"`    // id of the process
	Version string `json:"version"` // of goblin-actor
	Role    string `json:"role"`    // what the reader may do; see RoleOperator
}

// RoleOperator is the role of a reader that may see everything and act.
const RoleOperator = "operator"

var (
	// ErrTooManyStreams is returned by Follow if too many streams are open.
	ErrTooManyStreams = errors.New("too many streams of events are open; close another console or command that follows this gateway")
	// ErrUnknownWant is wrapped by the error of Follow for a Want that it does not know, and if nothing is wanted.
	ErrUnknownWant = fmt.Errorf("use one or more of %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(Wants), " ", ", "), "[]"))
)
