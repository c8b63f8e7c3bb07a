// Package config is the configuration file: parsed, completed with defaults, validated, compared.
package config

import "time"

// Config is everything a gateway is told. Default returns a complete one; Load reads a file over it.
type Config struct {
	Listen         []string // addresses; default 127.0.0.1:8730
	AllowedOrigins []string // besides none and our own
	AllowedHosts   []string // besides loopback names and what we listen on
	Servers        []Server // mcpServers, in the order of the file
	Namespace      Namespace
	Resources      Resources
	MetaTools      string // "true" | "false" | "only"
	PageSize       int    // items a page to clients; default 1000
	Limits         Limits
	Drain          time.Duration // shutdown.drain; default 10 s
	Log            Log
	Path           string // the file it came from; "" = none
}

// Server is one entry of mcpServers.
type Server struct {
	Name        string // slug
	Written     string // the name as the file has it
	Order       int    // place in the file
	Disabled    bool
	Description string

	Command    string
	Args       []string
	Env        map[string]string
	InheritEnv bool
	Cwd        string
	Replicas   int // processes; default 1

	URLs           []string // url or urls
	Type           string   // auto | http | sse | stdio
	Headers        map[string]string
	Protocol       string // auto | legacy | modern | exact version
	Isolation      string // shared | class | principal | session | leased
	MaxBackends    int
	MaxConcurrent  int // 0 = no limit
	Queue          Queue
	StartTimeout   time.Duration
	Timeout        time.Duration // 0 = none
	MaxTimeout     time.Duration
	Balance        string // round-robin | least-busy
	Retry          Retry
	Reconnect      Reconnect
	Startup        string // eager | lazy
	Prefix         string // "" = Name
	Tools          Filter
	Prompts        Filter
	ResourceFilter Filter // resources:
	Roots          []string
	ForwardHeaders []ForwardHeader
	Labels         map[string]string
	Group          string

	// Fault is why this server cannot run (a missing variable …): it is shown as misconfigured, the rest runs. "" = none.
	Fault string
}

// Queue bounds what waits for a free slot of a server.
type Queue struct {
	Size    int
	Timeout time.Duration
}

// Retry says what may be sent twice.
type Retry struct{ InFlight string } // never | idempotent

// Reconnect bounds the pauses between attempts.
type Reconnect struct{ Min, Max time.Duration }

// Filter chooses and renames items by the server's own names; patterns are globs with * and ?.
type Filter struct {
	Allow, Deny, Disabled []string
	Rename                map[string]string
}

// ForwardHeader hands a client's header to a server.
type ForwardHeader struct{ From, To, Prefix string }

// Namespace says how public names of tools and prompts are made.
type Namespace struct {
	Mode      string // always | on-conflict | never
	Separator string
	MaxLength int
}

// Resources says how public URIs are made.
type Resources struct{ URIStyle string } // prefix | underscore | original

// Limits of the whole gateway.
type Limits struct {
	MaxMessageBytes      int64
	MaxSessions          int
	MaxInFlightPerClient int
	SessionIdle          time.Duration
	ParkedCall           time.Duration
	ParkedPerServer      int
	ParkedPerClient      int
	MaxBufferedBytes     int64
}

// Log says what is logged and how.
type Log struct {
	Level  string // debug | info | warn | error
	Format string // text | json
}
