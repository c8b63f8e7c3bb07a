package backend

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// reconfigured applies a reload. A new startTimeout applies to a start in progress. If the pause before the next attempt is
// longer than the new settings allow, it is shortened.
func (s *state) reconfigured(now time.Time, server config.Server, out []kernel.Effect) []kernel.Effect {
	was := s.server
	s.server = server
	if s.starting() && server.StartTimeout != was.StartTimeout {
		out = s.armStart(now, out)
	}
	if next := now.Add(s.backoff(s.life.failures)); (s.life.phase == message.Waiting || s.life.phase == message.NeedsLogin) && next.Before(s.life.nextAttempt) {
		s.life.nextAttempt = next
		out = s.enter(now, s.life.phase, s.life.reason, append(out, kernel.WakeAfter(next.Sub(now), reconnectDue{s.conn.incarnation})))
	}
	if !slices.Equal(was.Roots, server.Roots) {
		return s.rootsChanged(out)
	}
	return out
}

// armStart starts the timer for startTimeout, which counts from the attempt to connect.
func (s *state) armStart(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.server.StartTimeout <= 0 {
		return out
	}
	return append(out, kernel.WakeAfter(max(0, s.conn.began.Add(s.server.StartTimeout).Sub(now)), startExpired{s.conn.incarnation}))
}

// startExpired ends a start that takes longer than startTimeout.
func (s *state) startExpired(now time.Time, out []kernel.Effect) []kernel.Effect {
	limit := s.server.StartTimeout
	if !s.starting() || limit <= 0 || now.Before(s.conn.began.Add(limit)) {
		return out
	}
	return s.lose(now, fmt.Sprintf("not ready within startTimeout (%s): %s", limit, s.missing()), out)
}

// rootsChanged notifies a server that has asked for roots.
func (s *state) rootsChanged(out []kernel.Effect) []kernel.Effect {
	if !s.conn.asks.roots || s.life.phase != message.Ready || s.conn.era != protocol.EraLegacy {
		return out
	}
	return s.notify(protocol.NotificationRootsListChanged, nil, out)
}

// sendLevel sets the log level of a legacy server that supports it, if a client has set one. After the last such client has
// left, the level is defaultLevel. The response does not matter.
func (s *state) sendLevel(out []kernel.Effect) []kernel.Effect {
	level := s.level
	if level == "" && s.conn.level != "" {
		level = defaultLevel
	}
	if level == s.conn.level || s.life.phase != message.Ready || s.conn.era == protocol.EraModern {
		return out
	}
	var has struct{ Logging *json.RawMessage }
	if json.Unmarshal(s.conn.info.Capabilities, &has) != nil || has.Logging == nil {
		return out
	}
	s.conn.level = level
	params := append([]byte(`{"level":`), rawjson.Quote(string(level))...)
	return s.expireOwn(s.request(protocol.MethodLoggingSetLevel, append(params, '}'), ignored, out))
}

// raiseLevel sets the log level that the modern client of a call wants, if the server's is less verbose. The pool sends the level of all
// clients, too, but that message may arrive after the call.
func (s *state) raiseLevel(c *message.Caller, out []kernel.Effect) []kernel.Effect {
	if c.LogLevel == protocol.LevelNone || !c.LogLevel.MoreVerbose(s.level) {
		return out
	}
	s.level = c.LogLevel
	return s.sendLevel(out)
}

// rootsResult returns the result of roots/list with the configured roots. MCP 2025-11-25, client/roots.
func rootsResult(roots []string) []byte {
	type root struct {
		URI string `json:"uri"`
	}
	list := make([]root, 0, len(roots))
	for _, uri := range roots {
		list = append(list, root{uri})
	}
	result, err := json.Marshal(map[string]any{"roots": list})
	if err != nil {
		panic("roots: " + err.Error()) // strings always marshal
	}
	return result
}
