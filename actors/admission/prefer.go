package admission

import (
	"bytes"
	"encoding/json"
	"fmt"

	"goblin-actor/actors/message"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

const (
	preferPath     = "params._meta.goblin-actor/prefer"
	maxPrefer      = 4 << 10 // bytes
	maxPreferences = 32      // labels
)

// preferOf returns the replicas that a request prefers; nil = no preference.
func preferOf(x *downstream.Exchange) (*message.Prefer, *protocol.Fault) {
	if !x.Params.Prefer.Present() {
		return nil, nil
	}
	raw := x.Params.Prefer.Of(x.Frame.Raw)
	if len(raw) > maxPrefer {
		return nil, protocol.BadParams(fmt.Sprintf("%s: %d bytes, at most %d are allowed", preferPath, len(raw), maxPrefer))
	}
	p := &message.Prefer{Labels: map[string]string{}}
	hasLabels := false
	fault := members(raw, preferPath, "an object with labels", func(key string, value json.RawMessage, path string) *protocol.Fault {
		switch key {
		case "labels":
			hasLabels = true
			return members(value, path, "an object of strings", func(label string, value json.RawMessage, path string) *protocol.Fault {
				text, ok := rawjson.Unquote(value)
				switch {
				case !ok:
					return protocol.BadParams(path + ": want a string")
				case len(p.Labels) >= maxPreferences:
					return protocol.BadParams(fmt.Sprintf("%s: at most %d labels are allowed", path, maxPreferences))
				}
				p.Labels[label] = text
				return nil
			})
		case "required":
			p.Required = string(value) == "true"
			if string(value) != "true" && string(value) != "false" {
				return protocol.BadParams(path + ": want true or false")
			}
			return nil
		}
		return protocol.BadParams(path + ": unknown, want labels or required")
	})
	if fault == nil && !hasLabels {
		fault = protocol.BadParams(preferPath + ".labels: missing")
	}
	if fault != nil {
		return nil, fault
	}
	return p, nil
}

// members calls a function for every member of a JSON object in a valid frame. Duplicate members are refused, because
// another parser might use the other one.
func members(raw []byte, path, want string, each func(key string, value json.RawMessage, path string) *protocol.Fault) *protocol.Fault {
	in := json.NewDecoder(bytes.NewReader(raw))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return protocol.BadParams(path + ": want " + want)
	}
	seen := map[string]bool{}
	for in.More() {
		token, err := in.Token()
		key, ok := token.(string)
		here := path + "." + status.Printable(key, 64)
		var value json.RawMessage
		if err != nil || !ok || in.Decode(&value) != nil {
			return protocol.BadParams(path + ": want " + want)
		}
		if seen[key] {
			return protocol.BadParams(here + ": duplicate member")
		}
		seen[key] = true
		if fault := each(key, value, here); fault != nil {
			return fault
		}
	}
	return nil
}
