package audit

import "time"

// Values of Record.Event. For logins, logouts, reloads and operators' actions, Outcome says whether they succeeded.
const (
	EventCall   = "call"   // a call has ended
	EventBegin  = "begin"  // a call starts (only with audit.when: both)
	EventDenied = "denied" // a request was refused, for example because the client is unknown, not permitted, or over its rate
	EventLogin  = "login"  // a user logged in to a server
	EventLogout = "logout" // a login to a server was removed
	EventKey    = "key"    // an API key was added, changed or removed
	EventReload = "reload" // the configuration was reloaded
	EventAdmin  = "admin"  // an operator acted: restart, cancel, drain, enable …
	EventStart  = "start"  // the gateway has started
	EventStop   = "stop"   // the gateway is stopping
)

// Events that the log writes itself.
const (
	EventFile       = "file"       // first line of each file; signed
	EventCheckpoint = "checkpoint" // signed; through the hashes, the signature covers all previous lines
	EventOpen       = "open"       // an existing file was opened again, usually after a restart
	EventRepair     = "repair"     // an incomplete line was removed
	EventDropped    = "dropped"    // count records were dropped
	EventMissing    = "missing"    // lines up to number count, which the log once had, are missing
	EventWitness    = "witness"    // quotes a checkpoint of another node's log
)

// Values of Record.Decision.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Record is the content of a line. The log adds its number, hash and signature. Texts may contain any characters: they
// are escaped, and truncated to 256 bytes (Item and Detail to 1 KiB).
type Record struct {
	Time    time.Time // zero = now
	Event   string    // an Event constant
	Who     string    // id of the principal
	Via     string    // how the principal was authenticated
	Peer    string    // client address without port, or "stdio"
	Session string    // short name of the session, as displayed
	Call    string    // identifies the call, to match its begin and its end
	Project string
	Method  string
	Server  string
	Item    string // tool, prompt or URI, as the server names it; for an operator's action, its target
	Run     string // the node of the cluster that executed the call; "" = the node that writes the log

	Decision string // Allow, Deny
	Rule     string // the policy rule that decided
	Outcome  string // outcome as in the metric goblin_calls_total, or an error name
	Took     time.Duration

	In, Out   int    // bytes of the request and of the response
	Arguments []byte // only their HMAC is written; must not be modified after Record
	Count     uint64 // number of equal denials, dropped records, …; 0 = one
	Detail    string // explanation for users

	witness *Checkpoint // of an EventWitness
}

// Sink accepts records. Record never blocks and is safe for concurrent use.
type Sink interface{ Record(r Record) }

// Flags are what callers must do for each call.
type Flags uint32

// Bits of Flags.
const (
	On       Flags = 1 << iota // the log is on
	Both                       // also record the start of each call
	Each                       // use Commit: a call is answered only after its record is on disk
	Refusing                   // refuse new calls: the log is required and cannot be written
)

// Has reports whether f has all bits of what.
func (f Flags) Has(what Flags) bool { return f&what == what }
