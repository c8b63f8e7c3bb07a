package server

import (
	"strings"

	"goblin-actor/bench/wire"
)

// newModernServer returns a server that answers in 2026-07-28.
func newModernServer(tools []string) *rawServer {
	modern := modernTail
	return &rawServer{
		discover: modern(`{"supportedVersions":["` + wire.ModernVersion + `"],"capabilities":{"tools":{}},"ttlMs":3600000,"cacheScope":"public"}`),
		list:     modern(`{"tools":[` + strings.Join(tools, ",") + `],"ttlMs":3600000,"cacheScope":"public"}`),
		small:    modern(wire.TextResult(wire.SmallBytes - 80)),
		big:      modern(wire.TextResult(wire.BigBytes)),
		empty:    wire.ResultTail(`{}`),
	}
}

// modernTail returns the part of a 2026-07-28 response after the id, for the given result.
func modernTail(result string) []byte {
	return wire.ResultTail(`{"resultType":"complete",` + strings.TrimPrefix(result, "{"))
}
