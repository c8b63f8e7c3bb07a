package config

import "time"

// DefaultListen is where we listen when nobody says otherwise.
const DefaultListen = "127.0.0.1:8730"

const (
	defaultMaxBackends         = 1
	defaultMaxBackendsIsolated = 64 // under isolation session and principal
)

// Default returns a complete Config without servers.
func Default() Config {
	return Config{
		Listen:    []string{DefaultListen},
		Namespace: Namespace{Mode: "always", Separator: "_", MaxLength: 64},
		Resources: Resources{URIStyle: "prefix", Unlisted: "mentioned"},
		Tools:     Tools{Invalid: "hide"},
		MetaTools: "auto",

		ValidateArguments: "off",
		PageSize:          1000,
		Limits: Limits{
			MaxMessageBytes:              64 << 20,
			MaxSessions:                  10000,
			MaxInFlightPerClient:         256,
			MaxInFlightPerPrincipal:      1024,
			MaxSubscriptionsPerPrincipal: 50000,
			SessionIdle:                  30 * time.Minute,
			ParkedCall:                   10 * time.Minute,
			ParkedPerServer:              256,
			ParkedPerClient:              16,
			StartsAtOnce:                 4,
			MaxBufferedBytes:             1 << 30,
		},
		Policy: Policy{Mode: "enforce"},
		Audit:  Audit{When: "end", Sync: "1s", Rotate: Rotate{Size: 100 << 20}},
		Drain:  10 * time.Second,
		Log:    Log{Level: "info", Format: "text"},
	}
}

// DefaultServer returns a Server with every default that does not depend on its kind: give it a Name and a Command, or
// URLs and the isolation `class`.
func DefaultServer() Server {
	return Server{
		Replicas:      1,
		Type:          "auto",
		Protocol:      "auto",
		Isolation:     "shared",
		MaxBackends:   defaultMaxBackends,
		MaxConcurrent: 64,
		Queue:         Queue{Size: 1024, Timeout: 10 * time.Second},
		StartTimeout:  time.Minute,
		IdleStop:      10 * time.Minute,
		Timeout:       30 * time.Second,
		MaxTimeout:    15 * time.Minute,
		Balance:       "round-robin",
		Retry:         Retry{InFlight: "never"},
		Auth:          ServerAuth{Type: "auto", As: "shared", CatalogAs: "shared"},
		Reconnect:     Reconnect{Min: 500 * time.Millisecond, Max: time.Minute},
		Startup:       "eager",
	}
}
