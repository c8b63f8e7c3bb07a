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

// discovery is the outcome of server/discover.
type discovery struct {
	era     protocol.Era // unknown = the response does not determine it
	version string       // modern era: the newest version that both sides speak
	fault   string       // why the gateway cannot use the server; "" = it can, or the response does not determine it
}

// discoveryOf interprets a response to server/discover. A DiscoverResult or error -32022 does not by itself show that the
// server is modern: go-sdk servers with sessions send both and list only legacy versions.
func discoveryOf(f *protocol.Frame) discovery {
	if f.Kind == protocol.KindResult {
		var r protocol.ResultInfo
		if r.Scan(f) != nil {
			return discovery{}
		}
		return discoveryOfVersions(r.SupportedVersions.Of(f.Raw))
	}
	switch code, _ := protocol.ErrorNumber(f); code {
	case codeUnsupportedVersion:
		data := rawjson.Member(f.Raw, f.Error, "data")
		return discoveryOfVersions(rawjson.Member(f.Raw, data, "supported").Of(f.Raw))
	case codeHeaderMismatch, codeCapabilityRequired:
		return discovery{fault: "the server refused to report its protocol versions: " + errorText(f)}
	}
	return discovery{}
}

// discoveryOfVersions interprets a list of versions, raw JSON.
func discoveryOfVersions(raw []byte) discovery {
	var versions []string
	if json.Unmarshal(raw, &versions) != nil || len(versions) == 0 {
		return discovery{}
	}
	for _, v := range protocol.ModernVersions { // newest first
		if slices.Contains(versions, v) {
			return discovery{era: protocol.EraModern, version: v}
		}
	}
	if slices.ContainsFunc(versions, protocol.IsLegacy) {
		return discovery{era: protocol.EraLegacy}
	}
	list := strings.ToValidUTF8(strings.Join(versions[:min(len(versions), 20)], ", "), "?")
	return discovery{fault: fmt.Sprintf("the server speaks protocol versions %q; the gateway supports %s and %s", status.Cut(list, 300),
		strings.Join(protocol.ModernVersions, ", "), strings.Join(protocol.LegacyVersions, ", "))}
}
