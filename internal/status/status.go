// Package status describes the gateway to its operators: a Snapshot of its state; the recent past, such as log lines, finished calls, denials
// and changes to the catalog; and metrics. It also defines what operators can do: Action and Use.
package status

import "time"

// Snapshot is the state of a gateway at one moment, and the JSON of /statusz. It is immutable.
type Snapshot struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Now      time.Time `json:"now"`
	Listen   []string  `json:"listen"`
	TLS      bool      `json:"tls,omitempty"`    // the listeners use TLS
	Config   string    `json:"config,omitempty"` // configuration file in force
	Ready    bool      `json:"ready"`
	Draining bool      `json:"draining"`
	Waiting  []string  `json:"waiting,omitempty"` // eager servers that have neither synced nor failed yet
	Failed   []string  `json:"failed,omitempty"`  // eager servers whose first attempt failed and that are not connected yet
	Catalog  Catalog   `json:"catalog"`
	Servers  []Server  `json:"servers"`
	Backends []Backend `json:"backends"`
	Sessions []Session `json:"sessions"`
	Calls    []Call    `json:"calls"`
	Actors   []Actor   `json:"actors"`
	Projects []Project `json:"projects,omitempty"` // sorted by name
	Nodes    []Node    `json:"nodes,omitempty"`    // of the cluster, sorted by name; empty = the gateway runs alone

	Subscriptions []Subscription `json:"subscriptions,omitempty"`

	Audit       *Audit       `json:"audit,omitempty"`       // nil = no audit log
	ConfigFault *ConfigFault `json:"configFault,omitempty"` // nil = the current file is in force
	Service     *Service     `json:"service,omitempty"`     // nil = not started by goblin-actor service
	Process     *Process     `json:"process,omitempty"`     // nil = unknown
	Keeping     []Keeping    `json:"keeping,omitempty"`     // servers whose payloads are being kept, by name
	Series      []Series     `json:"series,omitempty"`      // only for /statusz?seconds=N
}

// Service is the user service that runs the gateway, as goblin-actor service installs it.
type Service struct {
	Name string `json:"name"`
	Log  string `json:"log"` // a file, or the command that prints the log
}

// ConfigFault describes a changed configuration file that was rejected. The previous configuration stays in force.
type ConfigFault struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"` // all errors, one per line, without values of variables
}

// Audit is the state of the audit log.
type Audit struct {
	File     string `json:"file"`
	Key      string `json:"key"`             // public key of the signatures
	Sequence uint64 `json:"sequence"`        // number of the last line
	Signed   uint64 `json:"signed"`          // number of the last signed line
	Dropped  uint64 `json:"dropped"`         // records that were dropped
	Refusing bool   `json:"refusing"`        // new calls are refused
	Fault    string `json:"fault,omitempty"` // why the log cannot be written
}

// Catalog counts the items that clients are offered.
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
	Servers   []string `json:"servers"` // in the order of the configuration
	Tools     int      `json:"tools"`
	Prompts   int      `json:"prompts"`
	Resources int      `json:"resources"`
	Templates int      `json:"templates"`
}

// Server is the state of one entry of mcpServers, or of one group.
type Server struct {
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Fault       bool      `json:"fault,omitempty"` // not connected because an attempt failed or takes long
	Public      string    `json:"-"`               // the part of Reason that clients may see
	Hint        string    `json:"hint,omitempty"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	InFlight    int       `json:"inFlight"`
	Parked      int       `json:"parked,omitempty"` // calls of InFlight that wait for an answer of the client or for the end of a task
	Queued      int       `json:"queued"`
	TimedOut    int       `json:"timedOut,omitempty"` // calls that timed out in the last ten minutes
	Replicas    int       `json:"replicas"`
	ReadyCount  int       `json:"readyReplicas"`
	Tools       int       `json:"tools"`
	Prompts     int       `json:"prompts"`
	Resources   int       `json:"resources"`
	Templates   int       `json:"templates"`
	Subscribed  int       `json:"subscribed"`  // resources that the gateway is subscribed to
	Subscribers int       `json:"subscribers"` // subscriptions of clients to these resources
	Description string    `json:"description,omitempty"`
	Lease       string    `json:"lease,omitempty"`      // of a server with run: one: LeaseHere or LeaseElsewhere
	Warnings    []string  `json:"warnings,omitempty"`   // problems of a server that works nevertheless
	Invalid     []Invalid `json:"invalid,omitempty"`    // tools with invalid definitions
	Settled     bool      `json:"settled"`              // every replica has been ready or has failed at least once, or the items are cached: /readyz does not wait for the server
	FailedFirst bool      `json:"failedFirst"`          // the first attempt failed
	CachedSince time.Time `json:"cachedSince,omitzero"` // the items are from this time; zero = they are current

	LastError      string    `json:"lastError,omitempty"`      // why the server was last unavailable; kept until it has been ready for 10 minutes
	LastErrorAt    time.Time `json:"lastErrorAt,omitzero"`     // when the newest attempt failed or the connection was lost
	LastErrorTries int       `json:"lastErrorTries,omitempty"` // number of failures since the server was last ready for 10 minutes
	QueueWaits     string    `json:"queueWaits,omitempty"`     // what the queued calls wait for, in plain words

	Recorded time.Time `json:"recorded,omitzero"` // when the recording of its pool's messages ends; zero = they are not recorded

	DisabledTools []string `json:"disabledTools,omitempty"` // the entries of tools.disabled: the server's names of tools, or patterns
}

// Backend is the state of one connection to a server.
type Backend struct {
	Server      string    `json:"server"`
	Name        string    `json:"name,omitempty"` // <replica>.<number>; unique among the server's connections since the gateway started
	Replica     int       `json:"replica"`
	Member      string    `json:"member,omitempty"` // in a group: the entry of mcpServers that it belongs to
	Catalog     bool      `json:"catalog"`          // lists the server's items; other connections carry calls of one class of clients
	State       string    `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Incarnation uint64    `json:"incarnation"`
	Protocol    string    `json:"protocol,omitempty"`
	Transport   string    `json:"transport"`
	PID         int       `json:"pid,omitempty"`
	NextAttempt time.Time `json:"nextAttempt,omitzero"`
	Since       time.Time `json:"since"`
	InFlight    int       `json:"inFlight"`
	For         string    `json:"for,omitempty"`   // what the connection carries, and for which clients, in plain words
	Tries       int       `json:"tries,omitempty"` // failed attempts in a row
	Noise       int       `json:"noise,omitempty"` // lines or responses that were not messages
	FirstNoise  string    `json:"firstNoise,omitempty"`
	LastNoise   string    `json:"lastNoise,omitempty"`
	Stderr      []string  `json:"stderr,omitempty"`
}

// Session is the state of one client session.
type Session struct {
	ID        string    `json:"id"` // first 8 characters only: the full id is a secret; "listen/<n>" = a subscription stream
	Client    string    `json:"client,omitempty"`
	Who       string    `json:"who,omitempty"`     // name of the principal; empty = no authentication
	Project   string    `json:"project,omitempty"` // the session is restricted to it
	Protocol  string    `json:"protocol"`
	Transport string    `json:"transport"`
	Since     time.Time `json:"since"`
	LastSeen  time.Time `json:"lastSeen"`
	InFlight  int       `json:"inFlight"`
	Streams   int       `json:"streams"`
	Unsent    int       `json:"unsent,omitempty"`  // bytes that wait for the client to read them
	Dropped   uint64    `json:"dropped,omitempty"` // log and progress messages that were dropped because the client reads too slowly
	Guest     bool      `json:"guest,omitempty"`   // the session's home is another node of the cluster
}

// Call is a call in flight.
type Call struct {
	ID       string    `json:"id,omitempty"`     // identifies the call in an Action
	Session  string    `json:"session"`          // its id, or a fixed name for clients without a session
	Client   string    `json:"client,omitempty"` // name and version
	Who      string    `json:"who,omitempty"`    // name of the principal; empty = no authentication
	Server   string    `json:"server"`
	Method   string    `json:"method"`
	Item     string    `json:"item,omitempty"`   // name or URI as the server defines it
	Public   string    `json:"public,omitempty"` // the public name; empty = unknown
	State    string    `json:"state"`            // queued | written | parked
	Began    time.Time `json:"began"`
	Deadline time.Time `json:"deadline,omitzero"`

	In       int64     `json:"in,omitempty"`       // bytes of the request
	Taken    time.Time `json:"taken,omitzero"`     // when the call left the queue
	Written  time.Time `json:"written,omitzero"`   // when the request was written to the server
	Asked    time.Time `json:"asked,omitzero"`     // when the server first sent a request to the client
	Progress float64   `json:"progress,omitempty"` // as the server last reported it
	Total    float64   `json:"total,omitempty"`    // the Progress at the end of the call; 0 = unknown
	WaitsFor string    `json:"waitsFor,omitempty"` // what the call waits for, or what its client has not done yet, in plain words
}

// Subscription is a client's subscription to a resource.
type Subscription struct {
	Session string `json:"session"`
	Who     string `json:"who,omitempty"` // name of the principal; empty = no authentication
	Server  string `json:"server"`
	URI     string `json:"uri"`      // as sent by the client
	OwnURI  string `json:"original"` // URI as the server defines it

	Told       uint64    `json:"told,omitempty"`       // notifications sent to the client
	LastMinute uint64    `json:"lastMinute,omitempty"` // notifications in the minute before Last, approximately
	Last       time.Time `json:"last,omitzero"`        // when the client was last notified
	Merged     uint64    `json:"merged,omitempty"`     // updates that a newer one has replaced while they waited for the client
}

// Actor is the state of one actor.
type Actor struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Depth    int    `json:"depth"`
	Handled  uint64 `json:"handled"`
	Refused  uint64 `json:"refused"`
	Panics   uint64 `json:"panics"`
	Restarts uint64 `json:"restarts"`
	Last     string `json:"last,omitempty"`

	Recorded time.Time `json:"recorded,omitzero"` // when the recording of its messages ends; zero = they are not recorded
}
