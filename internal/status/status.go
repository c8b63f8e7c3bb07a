// Package status is what the gateway tells people: one Snapshot of everything, the words of log keys, and the metrics.
package status

import "time"

// Snapshot is the state of a gateway at one moment. The JSON of /statusz. Immutable.
type Snapshot struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Now      time.Time `json:"now"`
	Listen   []string  `json:"listen"`
	Config   string    `json:"config,omitempty"` // file in force
	Ready    bool      `json:"ready"`
	Draining bool      `json:"draining"`
	Waiting  []string  `json:"waiting,omitempty"` // eager servers neither synced nor failed once
	Failed   []string  `json:"failed,omitempty"`  // eager servers whose first attempt failed and that are not there yet
	Catalog  Catalog   `json:"catalog"`
	Servers  []Server  `json:"servers"`
	Backends []Backend `json:"backends"`
	Sessions []Session `json:"sessions"`
	Calls    []Call    `json:"calls"`
	Actors   []Actor   `json:"actors"`
	Projects []Project `json:"projects,omitempty"` // by name

	Subscriptions []Subscription `json:"subscriptions,omitempty"`

	Audit       *Audit       `json:"audit,omitempty"`       // nil = there is no audit log
	ConfigFault *ConfigFault `json:"configFault,omitempty"` // nil = the file in force is the newest
}

// ConfigFault says that the configuration file has changed and could not be put in force: the one before it still is.
type ConfigFault struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"` // every fault, a line each; never the value of a variable
}

// Audit is how the audit log is.
type Audit struct {
	File     string `json:"file"`
	Key      string `json:"key"`             // public, of its signatures
	Sequence uint64 `json:"sequence"`        // number of the newest line
	Signed   uint64 `json:"signed"`          // of the newest that is signed
	Dropped  uint64 `json:"dropped"`         // records that found no room
	Refusing bool   `json:"refusing"`        // calls are refused meanwhile
	Fault    string `json:"fault,omitempty"` // why it cannot be written
}

// Catalog counts what clients are offered.
type Catalog struct {
	Version   uint64 `json:"version"`
	Tools     int    `json:"tools"`
	Prompts   int    `json:"prompts"`
	Resources int    `json:"resources"`
	Templates int    `json:"templates"`
}

// Project is a named part of the catalog.
type Project struct {
	Name      string   `json:"name"`
	Servers   []string `json:"servers"` // that it shows, in the order of the configuration
	Tools     int      `json:"tools"`
	Prompts   int      `json:"prompts"`
	Resources int      `json:"resources"`
	Templates int      `json:"templates"`
}

// Server is one entry of mcpServers.
type Server struct {
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Fault       bool      `json:"fault,omitempty"` // it is not there because an attempt has failed, or takes long
	Public      string    `json:"-"`               // of the reason what clients may know
	Hint        string    `json:"hint,omitempty"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	InFlight    int       `json:"inFlight"`
	Parked      int       `json:"parked,omitempty"` // of these wait: at a question, or for the end of a task
	Queued      int       `json:"queued"`
	TimedOut    int       `json:"timedOut,omitempty"` // calls that the server did not answer in time, in the last ten minutes
	Replicas    int       `json:"replicas"`
	ReadyCount  int       `json:"readyReplicas"`
	Tools       int       `json:"tools"`
	Prompts     int       `json:"prompts"`
	Resources   int       `json:"resources"`
	Templates   int       `json:"templates"`
	Subscribed  int       `json:"subscribed"`  // resources subscribed upstream
	Subscribers int       `json:"subscribers"` // clients' subscriptions to them
	Description string    `json:"description,omitempty"`
	Warnings    []string  `json:"warnings,omitempty"`   // what is not as it should be although it works
	Invalid     []Invalid `json:"invalid,omitempty"`    // tools with invalid definitions
	Settled     bool      `json:"settled"`              // every replica was ready or failed once: /readyz does not wait for it
	FailedFirst bool      `json:"failedFirst"`          // its first attempt failed
	CachedSince time.Time `json:"cachedSince,omitzero"` // what it offers is what it offered then; zero = what it offers now
}

// Backend is one connection to one server.
type Backend struct {
	Server      string    `json:"server"`
	Replica     int       `json:"replica"`
	Member      string    `json:"member,omitempty"` // of a group: the entry of mcpServers that it is a connection of
	Catalog     bool      `json:"catalog"`          // it lists what the server offers; others carry calls of one class of clients
	State       string    `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Incarnation uint64    `json:"incarnation"`
	Protocol    string    `json:"protocol,omitempty"`
	Transport   string    `json:"transport"`
	PID         int       `json:"pid,omitempty"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	Since       time.Time `json:"since"`
	InFlight    int       `json:"inFlight"`
	Noise       int       `json:"noise,omitempty"` // lines on stdout that were no message
	Stderr      []string  `json:"stderr,omitempty"`
}

// Session is one connected client.
type Session struct {
	ID        string    `json:"id"` // first 8 characters only: the whole is a secret
	Client    string    `json:"client,omitempty"`
	Who       string    `json:"who,omitempty"`     // the principal's name; empty = nobody was asked
	Project   string    `json:"project,omitempty"` // it sees no more than that
	Protocol  string    `json:"protocol"`
	Transport string    `json:"transport"`
	Since     time.Time `json:"since"`
	LastSeen  time.Time `json:"lastSeen"`
	InFlight  int       `json:"inFlight"`
	Streams   int       `json:"streams"`
}

// Call is a call in flight.
type Call struct {
	ID       string    `json:"id,omitempty"`     // names it in an Action
	Session  string    `json:"session"`          // "desk": of a client without session
	Client   string    `json:"client,omitempty"` // name and version
	Who      string    `json:"who,omitempty"`    // the principal's name; empty = nobody was asked
	Server   string    `json:"server"`
	Method   string    `json:"method"`
	Item     string    `json:"item,omitempty"`   // as the server calls it
	Public   string    `json:"public,omitempty"` // as clients call it; empty = unknown
	State    string    `json:"state"`            // queued | written | parked
	Began    time.Time `json:"began"`
	Deadline time.Time `json:"deadline,omitzero"`
}

// Subscription is a resource that a client wants to hear of.
type Subscription struct {
	Session string `json:"session"`
	Who     string `json:"who,omitempty"` // the principal's name; empty = nobody was asked
	Server  string `json:"server"`
	URI     string `json:"uri"`      // as the client wrote it
	OwnURI  string `json:"original"` // the server's own
}

// Actor is one running actor.
type Actor struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Depth    int    `json:"depth"`
	Handled  uint64 `json:"handled"`
	Refused  uint64 `json:"refused"`
	Panics   uint64 `json:"panics"`
	Restarts uint64 `json:"restarts"`
	Last     string `json:"last,omitempty"`
}
