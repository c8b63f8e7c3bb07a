package audit

import "time"

// What happened, in a line's member event. Those of the log itself are below.
const (
	EventCall   = "call"   // a call has ended
	EventBegin  = "begin"  // a call begins (when: both)
	EventDenied = "denied" // a request was turned away before it was one: who asks is unknown, may not, or asks too often
	EventLogin  = "login"  // somebody has logged in at a server
	EventLogout = "logout"
	EventKey    = "key"    // an API key came, changed or went
	EventReload = "reload" // the configuration was read again
	EventAdmin  = "admin"  // an operator did something: restart, cancel, drain, enable …
	EventStart  = "start"  // the gateway has started
	EventStop   = "stop"   // the gateway ends
)

// Lines that the log writes by itself.
const (
	EventFile       = "file"       // the first line of each file; signed
	EventCheckpoint = "checkpoint" // all lines up to here are ours; signed
	EventOpen       = "open"       // a file is written to again after a restart
	EventRepair     = "repair"     // a line that was not finished has been cut off
	EventDropped    = "dropped"    // count records found no room
	EventMissing    = "missing"    // lines that there once were, up to the number in count, are gone
)

// Decisions.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Record is what a line says. The log makes number, chain and signature. Texts may hold anything: they are escaped, and cut at some
// hundred bytes.
type Record struct {
	Time    time.Time // zero = now
	Event   string
	Who     string // id of the principal
	Via     string // how it was found out
	Peer    string // address, without port; "stdio"
	Session string // as people are shown it
	Call    string // names the call, so that its begin and its end are found together
	Project string
	Method  string
	Server  string
	Item    string // tool, prompt or URI as its server calls it; what an operator acts on

	Decision string // Allow, Deny
	Rule     string // that decided
	Outcome  string // as in goblin_calls_total, or the name of the error
	Took     time.Duration

	In, Out   int    // bytes of the request and of the answer
	Arguments []byte // only their HMAC is written; not to be written to while the log has them
	Count     uint64 // of equal denials, dropped records, …; 0 = one
	Detail    string // for people
}

// Sink takes records. Record never blocks; it may be called from any goroutine.
type Sink interface{ Record(r Record) }

// Flags say what a holder of calls has to know of the log.
type Flags uint32

// What a log wants of those who hold calls.
const (
	On       Flags = 1 << iota // records are written
	Both                       // one before a call too
	Each                       // a call is answered only when its record is on disk: Commit
	Refusing                   // the log is required and cannot be written: no call may begin
)

// Has reports whether all of what is set.
func (f Flags) Has(what Flags) bool { return f&what == what }
