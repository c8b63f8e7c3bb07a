package backend

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

const (
	probeTime = 5 * time.Second // a process of unknown era that has not answered initialize within this time also gets server/discover
	legacyAge = 24 * time.Hour  // after this time, a legacy server is probed again, since it may have been updated
)

// probe is the state of determining the era of a connection's server. A process speaks one era, and many servers keep
// the era of the first request (TypeScript v2, Python SDK 2). A process therefore gets initialize first: in the legacy
// era, more of its tools can send requests to the client (docs/decisions/0008). If a request of the wrong era has made a
// process unusable, a new one is started for the other era. MCP 2026-07-28, basic/transports/stdio, backward
// compatibility. A URL gets server/discover first, since a request of the wrong era does no harm there.
type probe struct {
	plan          protocol.Era // the era that the connection began with; unknown = it has to be determined
	afterUnusable bool         // the previous process was unusable after a request of the wrong era
	discover      uint32       // id of server/discover while it is unanswered; else 0
	initialize    uint32       // id of initialize while it is unanswered; else 0
	asked         bool         // server/discover was sent
	resent        bool         // server/discover was sent twice
	refused       string       // why initialize was refused; "" = it was not
	session       bool         // over HTTP: the response to initialize named a session
}

// unanswered names the unanswered requests of the handshake.
func (p *probe) unanswered() string {
	switch {
	case p.discover != 0 && p.initialize != 0:
		return "initialize or server/discover"
	case p.discover != 0:
		return "server/discover"
	}
	return "initialize"
}

// only returns the one era that may be used with the server, according to the configuration and the kind of link. It
// returns unknown if both may be used.
func (s *state) only() protocol.Era {
	p := s.server.Protocol
	switch {
	case s.link.legacyOnly || s.legacyOnly || p == "legacy" || protocol.IsLegacy(p):
		return protocol.EraLegacy
	case p == "modern" || protocol.IsModern(p):
		return protocol.EraModern
	}
	return protocol.EraUnknown
}

// plan returns the era that this connection begins with, or unknown if it has to be determined.
func (s *state) plan(now time.Time) protocol.Era {
	if era := s.only(); era != protocol.EraUnknown {
		return era
	}
	if s.life.nextEra != protocol.EraUnknown {
		return s.life.nextEra
	}
	if s.life.silentInBothEras { // a modern server refuses initialize, and then it gets server/discover
		return protocol.EraLegacy
	}
	if s.life.known.Era == protocol.EraLegacy && now.Sub(s.life.known.At) >= legacyAge {
		return protocol.EraUnknown
	}
	return s.life.known.Era
}

// handshake sends the first request. A server that is known to be legacy, and a process whose era is unknown, get
// initialize. All other servers get server/discover.
func (s *state) handshake(now time.Time, out []kernel.Effect) []kernel.Effect {
	out = s.enter(now, message.Handshaking, "", out)
	s.conn.probe = probe{plan: s.plan(now), afterUnusable: s.life.nextEra != protocol.EraUnknown}
	s.life.nextEra = protocol.EraUnknown
	switch {
	case s.conn.probe.plan == protocol.EraLegacy:
		return s.initialize(out)
	case !s.link.exchanges && s.conn.probe.plan == protocol.EraUnknown:
		return append(s.initialize(out), kernel.WakeAfter(probeTime, probeExpired{s.conn.incarnation}))
	}
	return s.discover(append(out, kernel.Act(setVersion{protocol.Version20260728})))
}

// discover requests the versions that the server speaks. MCP 2026-07-28, server/discover.
func (s *state) discover(out []kernel.Effect) []kernel.Effect {
	out = s.request(protocol.MethodServerDiscover, nil, (*state).discovered, out)
	s.conn.probe.discover, s.conn.probe.asked = s.conn.lastID, true
	return out
}

// initialize opens a legacy session. MCP 2025-11-25, basic/lifecycle.
func (s *state) initialize(out []kernel.Effect) []kernel.Effect {
	version := protocol.LatestLegacy
	if protocol.IsLegacy(s.server.Protocol) {
		version = s.server.Protocol
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s,"_meta":{%s}}`, version, s.announce.Capabilities(), clientInfo,
		protocol.NodeMember(s.node))
	out = s.request(protocol.MethodInitialize, params, (*state).initialized, append(out, kernel.Act(setVersion{""})))
	s.conn.probe.initialize = s.conn.lastID
	return out
}

// discovered handles the response to server/discover, or a gateway error.
func (s *state) discovered(now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	s.conn.probe.discover = 0
	v := discoveryOf(f)
	switch {
	case v.fault != "":
		return s.lose(now, v.fault, out)
	case v.era == protocol.EraModern && f.Kind == protocol.KindResult:
		return s.continueModern(now, f, v.version, out)
	case v.era == protocol.EraModern && s.conn.probe.resent:
		return s.lose(now, "the server refused the protocol version that it had named: "+errorText(f), out)
	case v.era == protocol.EraModern:
		s.conn.probe.resent = true
		return s.discover(out)
	case v.era == protocol.EraLegacy:
		return s.continueLegacy(now, out)
	case f.Kind == protocol.KindError:
		return s.inconclusive(now, "the server refused server/discover: "+errorText(f), out)
	}
	return s.inconclusive(now, "the response to server/discover is invalid", out)
}

// continueLegacy handles a server that answers server/discover but speaks only legacy versions. A process that has
// answered server/discover may refuse initialize as a second handshake, so a new one is started.
func (s *state) continueLegacy(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.only() == protocol.EraModern {
		return s.lose(now, "the server speaks only legacy protocol versions, but protocol is set to "+s.server.Protocol, out)
	}
	s.life.known = message.KnownEra{Era: protocol.EraLegacy, At: now}
	if !s.link.exchanges {
		return s.reopen(now, protocol.EraLegacy, out)
	}
	return s.initialize(out)
}

// inconclusive handles a response to server/discover that does not determine the era. The server probably does not know
// the method.
func (s *state) inconclusive(now time.Time, why string, out []kernel.Effect) []kernel.Effect {
	switch {
	case s.only() == protocol.EraModern:
		return s.lose(now, why+" (protocol is set to "+s.server.Protocol+")", out)
	case s.conn.probe.initialize != 0:
		return out // the response to initialize decides
	case s.conn.probe.refused != "":
		return s.initializeRefused(now, s.conn.probe.refused, out)
	}
	s.life.known = message.KnownEra{}
	return s.initialize(out)
}

// initializeUnanswered handles a process that did not answer initialize in time. It may be slow (a download) or modern,
// so it also gets server/discover. The first usable response decides.
func (s *state) initializeUnanswered(out []kernel.Effect) []kernel.Effect {
	if s.conn.probe.initialize == 0 || s.conn.probe.asked {
		return out
	}
	return s.discover(out)
}

// initializeRefused handles a refused initialize. A process gets server/discover next. If that does not help, a new
// process is started, since the refusal may have made the old one unusable. An era that was only remembered is
// determined again.
func (s *state) initializeRefused(now time.Time, why string, out []kernel.Effect) []kernel.Effect {
	s.conn.probe.refused = why
	switch {
	case s.conn.probe.discover != 0:
		return out // the response to server/discover decides
	case s.only() != protocol.EraUnknown, s.conn.probe.afterUnusable:
		s.conn.seen.refused = s.only() != protocol.EraUnknown
	case !s.link.exchanges && !s.conn.probe.asked:
		s.life.known = message.KnownEra{}
		return s.discover(out)
	case !s.link.exchanges:
		return s.reopen(now, protocol.EraModern, out)
	case s.conn.probe.plan == protocol.EraLegacy:
		s.life.known = message.KnownEra{}
		return s.reopen(now, protocol.EraUnknown, out)
	}
	s.life.known = message.KnownEra{}
	return s.lose(now, why, out)
}

// reopen opens another connection at once, in the given era. EraUnknown = the era is to be determined again.
func (s *state) reopen(now time.Time, era protocol.Era, out []kernel.Effect) []kernel.Effect {
	out = append(out, kernel.Log(slog.LevelInfo, "reconnecting to use the other era of the protocol", "era", string(era)))
	s.life.nextEra = era
	clear(s.conn.pending) // only requests of the gateway: no call is sent before the handshake
	return s.connect(now, s.shut(out))
}

// endedByInitialize reports whether the process probably ended because of initialize.
func (s *state) endedByInitialize() bool {
	p := s.conn.pending[s.conn.probe.initialize]
	return s.life.phase == message.Handshaking && !s.link.exchanges && s.conn.probe.plan == protocol.EraUnknown &&
		s.only() == protocol.EraUnknown && p != nil && p.written
}

// openingEnded handles an HTTP response to an opening request that carried no JSON-RPC message.
func (s *state) openingEnded(now time.Time, id uint32, err error, out []kernel.Effect) []kernel.Effect {
	status, isStatus := errors.AsType[*upstream.StatusError](err)
	_, isNoJSON := errors.AsType[*protocol.ParseError](err)
	conclusive := isStatus && status.Code/100 == 4 || isNoJSON || errors.Is(err, upstream.ErrNoAnswer)
	text := "the response ended without an answer"
	if err != nil {
		text = err.Error()
	}
	if isStatus {
		var done bool
		if out, done = s.refusedInAnyEra(now, status, text, out); done {
			return out
		}
	}
	delete(s.conn.pending, id)
	switch {
	case !conclusive:
		return s.lose(now, text, out)
	case id == s.conn.probe.discover:
		s.conn.probe.discover = 0
		return s.inconclusive(now, "the server refused server/discover: "+text, out)
	}
	s.conn.probe.initialize = 0
	return s.initializeRefused(now, "the server refused initialize: "+text, out)
}

// refusedInAnyEra handles HTTP statuses that do not depend on the era: a login is missing, or the server is overloaded
// or broken.
func (s *state) refusedInAnyEra(now time.Time, status *upstream.StatusError, text string, out []kernel.Effect) (_ []kernel.Effect, done bool) {
	s.life.retryAfter = min(status.RetryAfter, longestRetryAfter)
	switch {
	case status.Scheme != "":
		s.life.noLogin = true
		return s.retreat(now, message.NeedsLogin, text+"; "+wantsScheme(status.Scheme), out), true
	case status.Code == 401 || status.Code == 403:
		return s.retreat(now, message.NeedsLogin, "the server requires a login: "+text, out), true
	case isEraNeutral(status.Code):
		return s.lose(now, text, out), true
	}
	return out, false
}

// isEraNeutral reports whether a server may return this status in any era: it requires a login, is overloaded, or is
// broken.
func isEraNeutral(status int) bool {
	switch status {
	case 401, 403, 408, 425, 429:
		return true
	}
	return status >= 500
}

// setEra records the server's era. If the era had to be determined, or differs from the known one, its age counts from
// now. A late response to the other opening request is ignored.
func (s *state) setEra(now time.Time, era protocol.Era) {
	for _, id := range []uint32{s.conn.probe.discover, s.conn.probe.initialize} {
		delete(s.conn.pending, id)
	}
	s.conn.probe.discover, s.conn.probe.initialize = 0, 0
	s.conn.era = era
	if s.only() == protocol.EraUnknown && (s.life.known.Era != era || s.conn.probe.plan == protocol.EraUnknown) {
		s.life.known = message.KnownEra{Era: era, At: now}
	}
}

// initialized handles the response to initialize, or a gateway error.
func (s *state) initialized(now time.Time, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	s.conn.probe.initialize = 0
	if f.Kind == protocol.KindError {
		return s.initializeRefused(now, "the server refused initialize: "+errorText(f), out)
	}
	var r protocol.ResultInfo
	if err := r.Scan(f); err != nil {
		return s.lose(now, "initialize failed: "+protocol.Reason(err), out)
	}
	version, _ := rawjson.Unquote(r.Version.Of(f.Raw))
	if !protocol.IsLegacy(version) {
		s.conn.seen.refused = s.only() != protocol.EraUnknown
		return s.lose(now, fmt.Sprintf("the server requires protocol version %q; the gateway supports %s to %s", version, protocol.Version20241105, protocol.LatestLegacy), out)
	}
	if s.legacyOnly && s.link.exchanges && !s.conn.probe.session {
		s.conn.seen.refused = true
		return s.lose(now, "the server opened no session, so it cannot send requests to legacy clients", out)
	}
	peer := protocol.NodeOf(f.Raw, r.Meta)
	if peer != "" && !s.link.exchanges && s.only() == protocol.EraUnknown && s.conn.probe.plan == protocol.EraUnknown {
		return s.reopen(now, protocol.EraModern, out) // the server is a gateway: in the modern era its requests to clients name their calls
	}
	s.setEra(now, protocol.EraLegacy)
	s.conn.peer.node = peer
	instructions, _ := rawjson.Unquote(r.Instructions.Of(f.Raw))
	s.conn.info = &message.ServerInfo{
		Version: version, Capabilities: r.Capabilities.Of(f.Raw), Info: r.ServerInfo.Of(f.Raw), Instructions: instructions,
	}
	out = append(out, kernel.Act(setVersion{version}))
	out = s.notify(protocol.NotificationInitialized, nil, out)
	greeting := s.conn.lastID
	out = s.enter(now, message.Syncing, "", out)
	if s.link.ordered { // messages arrive in order
		return s.syncAll(now, out)
	}
	s.conn.opening.unaccepted, s.conn.opening.unconfirmed = greeting, greeting
	return append(out, kernel.WakeAfter(openingTime, openingExpired{s.conn.incarnation}))
}

// continueModern handles a modern server's response to server/discover. MCP 2026-07-28, server/discover.
func (s *state) continueModern(now time.Time, f *protocol.Frame, version string, out []kernel.Effect) []kernel.Effect {
	var r protocol.ResultInfo
	if err := r.Scan(f); err != nil {
		return s.lose(now, "server/discover failed: "+protocol.Reason(err), out)
	}
	s.setEra(now, protocol.EraModern)
	s.conn.peer.node = protocol.NodeOf(f.Raw, r.Meta)
	instructions, _ := rawjson.Unquote(r.Instructions.Of(f.Raw))
	s.conn.info = &message.ServerInfo{
		Version: version, Capabilities: r.Capabilities.Of(f.Raw), Instructions: instructions,
		Info: rawjson.Member(f.Raw, r.Meta, "io.modelcontextprotocol/serverInfo").Of(f.Raw),
	}
	out = append(out, kernel.Act(setVersion{version}))
	out = s.enter(now, message.Syncing, "", out)
	return s.listenFirst(now, out)
}
