package admission

import (
	"encoding/json"
	"maps"
	"slices"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// routedExtensions are the extensions that work with several servers in view: the gateway can route their methods, or they have none.
// Other extensions are announced only if there is a single server in view, which gets all methods that the gateway does not know.
var routedExtensions = []string{message.ExtensionTasks, "io.modelcontextprotocol/ui"}

// extensionsOf returns the extensions that a server announces, with their settings. Tasks are included only if server and
// client are modern, because legacy tasks have a different format.
func extensionsOf(server *catalog.Server, era protocol.Era) map[string]json.RawMessage {
	var has struct{ Extensions map[string]json.RawMessage }
	if len(server.Capabilities) == 0 || json.Unmarshal(server.Capabilities, &has) != nil {
		return nil // not known yet, or invalid
	}
	if era != protocol.EraModern || !protocol.IsModern(server.Protocol) {
		delete(has.Extensions, message.ExtensionTasks)
	}
	return has.Extensions
}

// CapabilitiesFor returns the capabilities announced to clients of the era: the gateway's own, and the extensions of the servers in
// view. If two servers have the same extension, the settings of the first are announced.
func CapabilitiesFor(view *catalog.View, era protocol.Era) []byte {
	all := map[string]json.RawMessage{}
	for _, server := range slices.Backward(view.Servers()) {
		maps.Copy(all, extensionsOf(server, era))
	}
	if len(view.Servers()) > 1 {
		maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(routedExtensions, name) })
	}
	extras := message.Extras{Experimental: experimentalOf(view)}
	if text, err := json.Marshal(all); err == nil && len(all) > 0 {
		extras.Extensions = text
	}
	return extras.With([]byte(capabilities), false)
}

// experimentalOf returns the experimental capabilities of the only server in view, or nil if there are several. The gateway does not
// know their methods, so it could not choose between servers.
func experimentalOf(view *catalog.View) []byte {
	servers := view.Servers()
	if len(servers) != 1 || len(servers[0].Capabilities) == 0 {
		return nil
	}
	raw := servers[0].Capabilities
	object := rawjson.Member(raw, rawjson.Span{End: uint32(len(raw))}, "experimental").Of(raw)
	if len(object) <= len("{}") || object[0] != '{' {
		return nil
	}
	return object
}
