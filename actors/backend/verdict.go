package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Error codes of the modern era. MCP 2026-07-28, schema.
const (
	codeInvalidRequest     = -32600 // JSON-RPC 2.0
	codeNoMethod           = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeCapabilityRequired = -32021
	codeUnsupportedVersion = -32022
)

// verdict is what a response to server/discover says about the server.
type verdict struct {
	era     protocol.Era // unknown: nothing
	version string       // modern: the newest one both speak
	fault   string       // why it cannot be spoken to at all; "" = it can, or nothing is known
}

// judge interprets a response to server/discover. Neither a DiscoverResult nor error -32022 alone means modern:
// go-sdk servers with sessions send both and list only legacy versions.
func judge(f *protocol.Frame) verdict {
	if f.Kind == protocol.KindResult {
		var r protocol.ResultInfo
		if r.Scan(f) != nil {
			return verdict{}
		}
		return judgeVersions(r.SupportedVersions.Of(f.Raw))
	}
	switch code, _ := protocol.ErrorNumber(f); code {
	case codeUnsupportedVersion:
		data := rawjson.Member(f.Raw, f.Error, "data")
		return judgeVersions(rawjson.Member(f.Raw, data, "supported").Of(f.Raw))
	case codeHeaderMismatch, codeCapabilityRequired:
		return verdict{fault: "the server refuses to say what it supports: " + errorText(f)}
	}
	return verdict{}
}

// judgeVersions interprets a list of versions, raw JSON.
func judgeVersions(raw []byte) verdict {
	var versions []string
	if json.Unmarshal(raw, &versions) != nil || len(versions) == 0 {
		return verdict{}
	}
	for _, v := range protocol.ModernVersions { // newest first
		if slices.Contains(versions, v) {
			return verdict{era: protocol.EraModern, version: v}
		}
	}
	if slices.ContainsFunc(versions, protocol.IsLegacy) {
		return verdict{era: protocol.EraLegacy}
	}
	list := strings.ToValidUTF8(strings.Join(versions[:min(len(versions), 20)], ", "), "?")
	return verdict{fault: fmt.Sprintf("the server speaks %q; supported are %s and %s", status.Cut(list, 300),
		strings.Join(protocol.ModernVersions, ", "), strings.Join(protocol.LegacyVersions, ", "))}
}
