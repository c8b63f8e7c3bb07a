package admission

import (
	"encoding/json"
	"strings"

	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

// ClientName returns the client's name and version for logs and the status, truncated and printable.
func ClientName(info []byte) string {
	var v struct{ Name, Version string }
	if len(info) > 4096 || json.Unmarshal(info, &v) != nil {
		return ""
	}
	return strings.TrimSpace(status.Printable(v.Name, 64) + " " + status.Printable(v.Version, 32))
}

// AppendNode appends the member with which a result tells another gateway this gateway's name.
func AppendNode(b []byte, node string) []byte {
	return append(append(append(b, `,"_meta":{`...), protocol.NodeMember(node)...), '}')
}

// OwnServerFault returns the error for a gateway that is configured as its own server: it would list its own items again and again.
func OwnServerFault() *protocol.Fault {
	return &protocol.Fault{Name: protocol.InvalidRequest, Message: "this gateway is among its own servers; remove the entry of mcpServers that connects to it"}
}
