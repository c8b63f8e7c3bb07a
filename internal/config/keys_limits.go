package config

import "time"

// Limits holds limits for the whole gateway.
type Limits struct {
	// MaxMessageBytes is the maximum size of one message in either direction. It must not exceed `maxBufferedBytes`.
	MaxMessageBytes int64 `key:"maxMessageBytes" form:"bytes" min:"1KiB" max:"1GiB" default:"64MiB"`

	// MaxSessions is the maximum number of client sessions and listen streams. At the limit, the gateway closes the
	// least recently used session without calls and streams of the owner with the most sessions, unless that owner has
	// fewer sessions than the owner of the new one. The owner is the principal; without `auth` it is the address, or for
	// clients on this machine the client name. If there is no such session and another principal has more than half of
	// all sessions, one of its sessions that has only a stream is closed. Otherwise the new client gets 503.
	MaxSessions int `key:"maxSessions" min:"1" max:"10000000" default:"10000"`

	// MaxInFlightPerClient is the maximum number of running calls of one client. More are refused with OVERLOADED.
	MaxInFlightPerClient int `key:"maxInFlightPerClient" min:"1" max:"1000000" default:"256"`

	// MaxInFlightPerPrincipal is the maximum number of running requests of one principal over all its clients. It needs `auth`. More are
	// refused with OVERLOADED. 0 means no limit.
	MaxInFlightPerPrincipal int `key:"maxInFlightPerPrincipal" min:"0" max:"1000000" default:"1024"`

	// MaxSubscriptionsPerPrincipal is the maximum number of resources and tasks that one principal subscribes to over all its sessions and
	// listen streams. It needs `auth`. More are refused with OVERLOADED. A URI counts once for each 512 bytes. A single session or stream may have
	// at most 10000, whatever this limit is. 0 means no limit.
	MaxSubscriptionsPerPrincipal int `key:"maxSubscriptionsPerPrincipal" min:"0" max:"100000000" default:"50000"`

	// SessionIdle closes a session after this time without calls and streams.
	SessionIdle time.Duration `key:"sessionIdle" min:"1s" max:"8760h" default:"30m"`

	// ParkedCall is how long a call may wait for its client to answer a server request (elicitation, sampling or roots).
	ParkedCall time.Duration `key:"parkedCall" min:"1s" max:"168h" default:"10m"`

	// ParkedPerServer is the maximum number of calls per server that wait for their clients to answer a server request. Further ones are
	// canceled with OVERLOADED. 0 means no limit. Calls that wait for a login are counted separately, with the same limit;
	// for them 0 means 256.
	ParkedPerServer int `key:"parkedPerServer" min:"0" max:"1000000" default:"256"`

	// ParkedPerClient is the maximum number of calls per client that wait for the client to answer a server request. At
	// the limit, the oldest waiting call of a 2026-07-28 client is dropped, and a new server request to an older client
	// is refused. 0 means no limit.
	ParkedPerClient int `key:"parkedPerClient" min:"0" max:"1000000" default:"16"`

	// StartsAtOnce is the maximum number of processes that start at the same time. Servers with a waiting call start
	// first, then those that lost their connection, then first starts in file order, then further attempts. A start
	// no longer counts after one second, so downloads do not delay others. Servers with a `url` do not count. 0 means no
	// limit.
	StartsAtOnce int `key:"startsAtOnce" min:"0" max:"100000" default:"4"`

	// MaxBufferedBytes is the maximum memory for messages in transit over all connections.
	MaxBufferedBytes int64 `key:"maxBufferedBytes" form:"bytes" min:"64KiB" max:"1TiB" default:"1GiB"`
}

// Log controls the log.
type Log struct {
	// Level is the least severe level to log.
	Level string `key:"level" oneof:"debug|info|warn|error" default:"info"`

	// Format is the format of log lines.
	Format string `key:"format" oneof:"text|json" default:"text"`
}
