package backend

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
)

// nodeJoined connects at once, because the node that runs the server has joined the cluster. If the server is not ready there yet, the
// backend tries again, after the shortest pause first.
func (s *state) nodeJoined(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.life.phase != message.Waiting {
		return out
	}
	s.life.failures, s.life.lostAt = 0, now
	return s.connect(now, out)
}

// keyBytes is the size of the hash that identifies a client on the node that runs the server.
const keyBytes = 12

// appendBehalf appends the headers that name the principal and the client of a call to another node. The connection's own headers
// already name the principal if the connection belongs to one, and the client if it belongs to a session and the server has run: each.
func appendBehalf(headers []protocol.HeaderField, caller *message.Caller, server *config.Server) []protocol.HeaderField {
	if caller.Principal != "" && server.Isolation != "principal" && server.Isolation != "session" {
		headers = append(headers, protocol.HeaderField{Name: protocol.HeaderNodeHolder, Value: caller.Principal})
	}
	if server.Isolation == "session" && server.Run == config.RunEach {
		return headers
	}
	sum := sha256.Sum256([]byte(caller.ClientKey))
	return append(headers, protocol.HeaderField{Name: protocol.HeaderNodeKey, Value: base64.RawURLEncoding.EncodeToString(sum[:keyBytes])})
}
