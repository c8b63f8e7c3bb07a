package message

import (
	"encoding/json"
	"strings"

	"goblin-actor/protocol"
)

// CapabilitySet is the set of server requests that a client has declared it can answer. Clients with equal sets form a class:
// they may share a connection to a server that shows different tools to different clients.
type CapabilitySet uint8

// The kinds of server requests, one bit each.
const (
	CanForm        CapabilitySet = 1 << iota // elicitation, mode form
	CanURL                                   // elicitation, mode url
	CanSample                                // sampling
	CanSampleTools                           // sampling with tools
	CanRoots                                 // roots
	CanAll         = CanForm | CanURL | CanSample | CanSampleTools | CanRoots
)

// CanOf parses a client's capabilities. If they are invalid, none counts as declared. An empty elicitation object means
// form. MCP 2025-11-25, client/elicitation, client/sampling, client/roots.
func CanOf(capabilities []byte) CapabilitySet {
	var c struct {
		Elicitation *struct{ Form, URL *json.RawMessage }
		Sampling    *struct{ Tools *json.RawMessage }
		Roots       *json.RawMessage
	}
	if len(capabilities) == 0 || json.Unmarshal(capabilities, &c) != nil {
		return 0
	}
	var can CapabilitySet
	if e := c.Elicitation; e != nil {
		if e.Form != nil || e.URL == nil {
			can |= CanForm
		}
		if e.URL != nil {
			can |= CanURL
		}
	}
	if c.Sampling != nil {
		can |= CanSample
		if c.Sampling.Tools != nil {
			can |= CanSampleTools
		}
	}
	if c.Roots != nil {
		can |= CanRoots
	}
	return can
}

// In returns the set that c stands for in the negotiated version. A declaration counts in any version: the Java SDK
// over HTTP+SSE negotiates 2024-11-05, yet declares and answers elicitation. Only the modes depend on the version:
// before 2025-11-25 there were none, and an elicitation object always means form.
func (c CapabilitySet) In(version string) CapabilitySet {
	if version < protocol.Version20251125 && c&CanURL != 0 {
		return c | CanForm
	}
	return c
}

// Clients returns which clients have exactly this set, in plain words for operators.
func (c CapabilitySet) Clients() string {
	if c&CanAll == CanAll {
		return "clients that answer every kind of request"
	}
	var kinds []string
	for i, kind := range [...]string{"forms", "URLs", "sampling", "sampling with tools", "roots"} {
		if c&(1<<i) != 0 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return "clients that answer no requests"
	}
	return "clients that answer " + strings.Join(kinds, ", ")
}

// Capabilities returns the raw JSON object that declares the set to a legacy server.
func (c CapabilitySet) Capabilities() []byte { return c.declare(`"roots":{"listChanged":true}`) }

// ModernCapabilities returns the raw JSON object that declares the set to a modern server, where roots/list_changed does not
// exist.
func (c CapabilitySet) ModernCapabilities() []byte { return c.declare(`"roots":{}`) }

func (c CapabilitySet) declare(roots string) []byte {
	var members []string
	if modes := c & (CanForm | CanURL); modes != 0 {
		var list []string
		if c&CanForm != 0 {
			list = append(list, `"form":{}`)
		}
		if c&CanURL != 0 {
			list = append(list, `"url":{}`)
		}
		members = append(members, `"elicitation":{`+strings.Join(list, ",")+`}`)
	}
	if c&CanRoots != 0 {
		members = append(members, roots)
	}
	if c&CanSampleTools != 0 {
		members = append(members, `"sampling":{"tools":{}}`)
	} else if c&CanSample != 0 {
		members = append(members, `"sampling":{}`)
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

// Answers reports whether the client has declared that it can answer q.
func (c CapabilitySet) Answers(q protocol.InputKind) bool {
	needs := map[protocol.InputKind]CapabilitySet{
		protocol.InputForm: CanForm, protocol.InputURL: CanURL, protocol.InputSample: CanSample,
		protocol.InputSampleTools: CanSampleTools, protocol.InputRoots: CanRoots,
	}[q]
	return needs != 0 && c&needs != 0
}
