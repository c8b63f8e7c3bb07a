package config

import "time"

// Limits of the whole gateway.
type Limits struct {
	// MaxMessageBytes is the size of one message in either direction, written with a unit (64MiB). Not above
	// maxBufferedBytes. Default: 64MiB.
	MaxMessageBytes int64 `key:"maxMessageBytes" form:"bytes" min:"1KiB" max:"1GiB"`

	// MaxSessions is the number of client sessions and listen streams. At the limit the least recently used one without call and stream
	// makes room, of whoever has most (a principal; else an address, on this machine a client's name), else the client gets 503. Of a
	// principal that has more than half of all, one that only a stream holds does. Default: 10000.
	MaxSessions int `key:"maxSessions" min:"1" max:"10000000"`

	// MaxInFlightPerClient is the number of calls one client may have running; more are refused with OVERLOADED.
	// Default: 256.
	MaxInFlightPerClient int `key:"maxInFlightPerClient" min:"1" max:"1000000"`

	// MaxInFlightPerPrincipal is the number of requests that all clients of one principal may have running, where clients say who
	// they are; more are refused with OVERLOADED. 0 = no limit. Default: 1024.
	MaxInFlightPerPrincipal int `key:"maxInFlightPerPrincipal" min:"0" max:"1000000"`

	// MaxSubscriptionsPerPrincipal is the number of resources and tasks that one principal may be subscribed to over all its sessions and
	// listen streams, where clients say who they are; more are refused with OVERLOADED. What is longer than 512 bytes counts once for each 512.
	// Of one session or stream it is 10000 in any case. 0 = no limit. Default: 50000.
	MaxSubscriptionsPerPrincipal int `key:"maxSubscriptionsPerPrincipal" min:"0" max:"100000000"`

	// SessionIdle ends a session that had neither call nor stream for so long. Default: 30m.
	SessionIdle time.Duration `key:"sessionIdle" min:"1s" max:"8760h"`

	// ParkedCall is how long a call may wait for a person to answer a question. Default: 10m.
	ParkedCall time.Duration `key:"parkedCall" min:"1s" max:"168h"`

	// ParkedPerServer is the number of such calls per server. 0 = no limit. Default: 256.
	ParkedPerServer int `key:"parkedPerServer" min:"0" max:"1000000"`

	// ParkedPerClient is the number of such calls per client. At the limit the oldest of a client of 2026-07-28, who is away
	// until it has the answer, makes room. 0 = no limit. Default: 16.
	ParkedPerClient int `key:"parkedPerClient" min:"0" max:"1000000"`

	// StartsAtOnce is the number of processes that may be starting at the same time, over all servers: those first that a call
	// waits for, then in the order of the file. A start that takes more than a second (a download) counts no longer, and URLs never do.
	// 0 = no limit. Default: 4.
	StartsAtOnce int `key:"startsAtOnce" min:"0" max:"100000"`

	// MaxBufferedBytes is the memory for messages on their way, over all connections, written with a unit.
	// Default: 1GiB.
	MaxBufferedBytes int64 `key:"maxBufferedBytes" form:"bytes" min:"64KiB" max:"1TiB"`
}

// Log says what is logged and how.
type Log struct {
	// Level is the least important that is logged: debug, info, warn or error. Default: info.
	Level string `key:"level" oneof:"debug|info|warn|error"`

	// Format is text or json. Default: text.
	Format string `key:"format" oneof:"text|json"`
}
